FROM python:3.11-slim AS build
WORKDIR /source
RUN python -m venv /opt/watchline && /opt/watchline/bin/pip install --quiet --no-cache-dir 'pip>=25.1'
COPY . .
RUN /opt/watchline/bin/pip install --quiet --no-cache-dir --constraint constraints.txt '.[server]'

FROM python:3.11-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin watchline
COPY --from=build /opt/watchline /opt/watchline
ENV PATH=/opt/watchline/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
USER 10001
ENTRYPOINT ["watchline"]
CMD ["--help"]
