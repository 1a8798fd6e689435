// Owns which texts are cron schedules: five fields, or a word like "@hourly" or "@every 5m".
import { parseDuration } from '../time.ts';

interface Field {
  readonly low: number;
  readonly high: number;
  readonly names?: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const fields: readonly Field[] = [
  { low: 0, high: 59 },
  { low: 0, high: 23 },
  { low: 1, high: 31 },
  { low: 1, high: 12, names: months },
  { low: 0, high: 6, names: days },
];

const words = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);

/** What is wrong with a schedule; undefined when it can be followed. */
export function scheduleProblem(schedule: string): string | undefined {
  if (/^(CRON_)?TZ=/.test(schedule)) return 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead';
  const text = schedule.trim();
  if (text.startsWith('@every ')) {
    const every = parseDuration(text.slice('@every '.length));
    return every === undefined ? `failed to parse duration ${text}` : undefined;
  }
  if (text.startsWith('@')) return words.has(text) ? undefined : `unrecognized descriptor: ${text}`;
  const parts = text.split(/\s+/);
  if (parts.length !== fields.length) return `expected exactly 5 fields, found ${parts.length}`;
  for (const [at, field] of fields.entries())
    for (const range of parts[at]!.split(','))
      if (!isRange(range, field)) return `cannot parse ${range}: it must be between ${field.low} and ${field.high}`;
  return undefined;
}

/** "*", "?", "3", "1-5", each also with a step after a slash. */
function isRange(text: string, field: Field): boolean {
  const [range = '', step, ...more] = text.split('/');
  if (more.length > 0 || (step !== undefined && !(/^\d+$/.test(step) && Number(step) > 0))) return false;
  if (range === '*' || range === '?') return true;
  const [first = '', last, ...rest] = range.split('-');
  if (rest.length > 0) return false;
  const low = numberOf(first, field);
  const high = last === undefined ? low : numberOf(last, field);
  return low !== undefined && high !== undefined && low >= field.low && high <= field.high && low <= high;
}

function numberOf(text: string, { names, low }: Field): number | undefined {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = names?.indexOf(text.toLowerCase()) ?? -1;
  return at < 0 ? undefined : at + low;
}

const areas = new Set(
  'Africa America Antarctica Arctic Asia Atlantic Australia Brazil Canada Chile Etc Europe Indian Mexico Pacific US'.split(
    ' ',
  ),
);

/** Names of the time zone database; the server's own zone and offsets are not accepted. */
export function isTimeZone(name: string): boolean {
  // Names are those of files; what answers here does not look at case.
  if (!/^[A-Z][A-Za-z0-9_+-]*(\/[A-Z][A-Za-z0-9_+-]*)*$/.test(name) || name === 'Local') return false;
  if (name.includes('/') && !areas.has(name.slice(0, name.indexOf('/')))) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
