// Proves which schedules and time zones cron jobs may have.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTimeZone, scheduleProblem } from './cron-schedule.ts';

test('schedules', () => {
  for (const good of ['* * * * *', '*/5 0-6 1,15 * mon', '@daily', '@every 1h30m', '0 0 1 jan *'])
    assert.equal(scheduleProblem(good), undefined, good);
  for (const bad of ['', '* * * *', '60 * * * *', '* 24 * * *', '@sometimes', 'x * * * *', '* * * * * *'])
    assert.notEqual(scheduleProblem(bad), undefined, bad);
});

test('time zones', () => {
  for (const good of ['Etc/UTC', 'Europe/Berlin', 'America/New_York']) assert.equal(isTimeZone(good), true, good);
  for (const bad of ['Nowhere/City', '', ' UTC']) assert.equal(isTimeZone(bad), false, bad);
});
