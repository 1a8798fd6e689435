// Owns when a cron schedule fires: five fields or a word, in a time zone. Texts are as validation lets them through. Pure.
import { parseDuration, digitsInZone } from '../../api/time.ts';

export interface Schedule {
  /** The first time after `ms`; undefined when there is none within five years ("0 0 30 2 *"). */
  next(ms: number): number | undefined;
}

const minuteMs = 60_000;
const horizonMs = 5 * 366 * 86_400_000;
const words: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const names = [
  [],
  [],
  [],
  ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
] as const;
const bounds = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const;

/** Throws on what is no schedule or time zone. Without a zone the schedule is in UTC. */
export function parseSchedule(text: string, timeZone = 'UTC'): Schedule {
  const trimmed = text.trim();
  if (trimmed.startsWith('@every ')) return every(trimmed.slice('@every '.length));
  const fields = (words[trimmed] ?? trimmed).split(/\s+/);
  if (fields.length !== 5) throw new Error(`expected exactly 5 fields, found ${fields.length}: "${text}"`);
  const [minutes, hours, days, months, weekdays] = fields.map(parseField) as [Field, Field, Field, Field, Field];
  // When both days are restricted either may match, else both must.
  const dayMatches = ({ day, weekday }: Local) =>
    days.isAny || weekdays.isAny
      ? days.values.has(day) && weekdays.values.has(weekday)
      : days.values.has(day) || weekdays.values.has(weekday);
  const zone = zoneClock(timeZone);
  return {
    next(ms) {
      let at = Math.floor(ms / minuteMs) * minuteMs + minuteMs;
      const limit = ms + horizonMs;
      while (at <= limit) {
        const local = zone.local(at);
        if (!months.values.has(local.month)) at = later(at, zone.utc(local.year, local.month + 1, 1));
        else if (!dayMatches(local)) at = later(at, zone.utc(local.year, local.month, local.day + 1));
        else if (!hours.values.has(local.hour)) at += (60 - local.minute) * minuteMs;
        else if (!minutes.values.has(local.minute)) at += minuteMs;
        else return at;
      }
      return undefined;
    },
  };
}

/** A local midnight that a change of clocks leaves out must not send us back. */
function later(at: number, wanted: number): number {
  return wanted > at ? wanted : at + 60 * minuteMs;
}

function every(text: string): Schedule {
  const nanoseconds = parseDuration(text);
  if (nanoseconds === undefined) throw new Error(`"${text}" is no duration`);
  const stepMs = Math.max(1000, Math.floor(Number(nanoseconds / 1_000_000n) / 1000) * 1000);
  return { next: (ms) => Math.floor(ms / 1000) * 1000 + stepMs };
}

interface Field {
  readonly values: ReadonlySet<number>;
  /** A plain star. */
  readonly isAny: boolean;
}

function parseField(text: string, at: number): Field {
  const [low, high] = bounds[at]!;
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [range = '', stepText] = part.split('/');
    const isStar = range === '*' || range === '?';
    const [first = '', last] = range.split('-');
    const from = isStar ? low : numberOf(first, at);
    // "3/5" means from 3 on.
    const to =
      isStar || (last === undefined && stepText !== undefined) ? high : last === undefined ? from : numberOf(last, at);
    const step = Number(stepText ?? 1);
    if (!(from >= low && to <= high && from <= to && step >= 1))
      throw new Error(`"${part}" is no range of ${low} to ${high}`);
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return { values, isAny: text === '*' || text === '?' };
}

function numberOf(text: string, at: number): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const index = (names[at] as readonly string[]).indexOf(text.toLowerCase());
  return index < 0 || text === '' ? Number.NaN : index;
}

interface Local {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly weekday: number;
}

/** Wall time of a zone, by its offset at each instant. */
function zoneClock(timeZone: string): {
  local(ms: number): Local;
  utc(year: number, month: number, day: number): number;
} {
  const format = timeZone === 'UTC' ? undefined : digitsInZone(timeZone);
  const offsetAt = (ms: number): number => {
    if (!format) return 0;
    const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
  };
  return {
    local(ms) {
      const wall = new Date(ms + offsetAt(ms));
      return {
        year: wall.getUTCFullYear(),
        month: wall.getUTCMonth() + 1,
        day: wall.getUTCDate(),
        hour: wall.getUTCHours(),
        minute: wall.getUTCMinutes(),
        weekday: wall.getUTCDay(),
      };
    },
    utc(year, month, day) {
      const wall = Date.UTC(year, month - 1, day);
      const guess = wall - offsetAt(wall);
      return wall - offsetAt(guess);
    },
  };
}
