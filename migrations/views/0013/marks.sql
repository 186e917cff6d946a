-- Whoever writes runs or slots, a mark of each cell that it touches is part of the transaction; the argument says how a
-- row tells its day. A cell that has a mark already gets no second one: the lock that is held from here to the end of
-- the transaction keeps `fold_days` from taking that mark away without having seen what is written here. When the lock
-- can't be had a fold is at work, or waits for others, and every cell gets a mark. So nobody who writes waits for a fold.
create function mark_days() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    -- The offset keeps the planner from reckoning each row's day three times.
    cells text := format('select c.day, c.pipeline from (select distinct %s as day, pipeline from changed offset 0) c '
        'where c.day is not null', tg_argv[0]);
    known text := format('exists (select from %I.stale_days s where s.day = c.day and s.pipeline = c.pipeline)',
        tg_table_schema);
begin
    if current_setting('transaction_isolation') = 'read committed' and pg_try_advisory_xact_lock_shared({lock}) then
        cells := cells || ' and not ' || known;
    end if;
    execute format('insert into %I.stale_days (day, pipeline) %s', tg_table_schema, cells);
    return null;
end $$;

comment on function mark_days is 'Marks the days of the rows that a statement wrote or deleted: their cells are to be computed anew';

-- The day that a run left; the one to which it went is marked by the statement.
create function mark_left_day() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    execute format('insert into %I.stale_days (day, pipeline) values ($1, $2)', tg_table_schema)
        using (coalesce(old.started_at, old.ended_at) at time zone 'UTC')::date, old.pipeline;
    return null;
end $$;

comment on function mark_left_day is 'Marks the day that a run was in before its start was corrected';

create function mark_all_days() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    execute format('insert into %1$I.stale_days (day, pipeline) select day, pipeline from %1$I.pipeline_days',
        tg_table_schema);
    return null;
end $$;

comment on function mark_all_days is 'Marks every cell, when a table was emptied as a whole';

create trigger runs_inserted after insert on runs referencing new table as changed
    for each statement execute function mark_days({run_day});

create trigger runs_updated after update on runs referencing new table as changed
    for each statement execute function mark_days({run_day});

create trigger runs_deleted after delete on runs referencing old table as changed
    for each statement execute function mark_days({run_day});

create trigger runs_moved after update on runs for each row
    when (coalesce(old.started_at, old.ended_at) is not null
        and (coalesce(old.started_at, old.ended_at) at time zone 'UTC')::date
            is distinct from (coalesce(new.started_at, new.ended_at) at time zone 'UTC')::date)
    execute function mark_left_day();

create trigger runs_truncated after truncate on runs for each statement execute function mark_all_days();

create trigger slots_inserted after insert on expected_runs referencing new table as changed
    for each statement execute function mark_days({slot_day});

create trigger slots_updated after update on expected_runs referencing new table as changed
    for each statement execute function mark_days({slot_day});

create trigger slots_deleted after delete on expected_runs referencing old table as changed
    for each statement execute function mark_days({slot_day});

create trigger slots_truncated after truncate on expected_runs for each statement execute function mark_all_days()
