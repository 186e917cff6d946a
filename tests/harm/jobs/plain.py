"""Forty runs; the world may change after the first half."""

from harm.reporting import orders, pause

total = 0
for number in range(40):
    with orders.run(labels={"number": number}) as run:
        total += number
        run.add(inserts=number)
    if number == 19:
        pause()
print(total)
