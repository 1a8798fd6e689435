// Owns upstream's flag syntax (pflag): --name=value, --name value, --switch, lists, maps, durations. Reads no environment.
import { formatDuration, parseDuration } from '../api/time.ts';

export type FlagType = 'text' | 'number' | 'switch' | 'duration' | 'list' | 'map';

export interface Flag {
  readonly type: FlagType;
  /** One line for --help. */
  readonly help: string;
  /** As it would be written; absent: unset. */
  readonly default?: string;
  /** Accepted for upstream's sake without any effect here; the text says why that is right. */
  readonly ignored?: string;
}

export type FlagTable = Readonly<Record<string, Flag>>;

/** What a flag's value is once read. Durations are milliseconds. */
export interface FlagValues {
  text: string;
  number: number;
  switch: boolean;
  duration: number;
  list: readonly string[];
  map: ReadonlyMap<string, string>;
}

export type Values<T extends FlagTable> = { readonly [K in keyof T]: FlagValues[T[K]['type']] | undefined };

export class FlagError extends Error {
  override readonly name = 'FlagError';
}

/** Reads `args` by the table. Throws FlagError for unknown flags, bad values and stray words. */
export function parseFlags<const T extends FlagTable>(table: T, args: readonly string[]): Values<T> {
  const texts = new Map<string, string[]>();
  for (let at = 0; at < args.length; at++) {
    const argument = args[at]!;
    if (!argument.startsWith('--')) throw new FlagError(`unknown argument: ${argument}`);
    const equals = argument.indexOf('=');
    const name = argument.slice(2, equals < 0 ? undefined : equals).replaceAll('_', '-');
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    if (flag === undefined) throw new FlagError(`unknown flag: --${name}`);
    let text = equals < 0 ? undefined : argument.slice(equals + 1);
    if (text === undefined && flag.type === 'switch') text = 'true';
    text ??= args[++at];
    if (text === undefined) throw new FlagError(`flag needs an argument: --${name}`);
    texts.set(name, [...(texts.get(name) ?? []), text]);
  }
  const entries = Object.entries(table).map(([name, flag]) => {
    const given = texts.get(name) ?? (flag.default === undefined ? [] : [flag.default]);
    return [name, given.length === 0 ? undefined : read(name, flag.type, given)] as const;
  });
  return Object.fromEntries(entries) as Values<T>;
}

/** Values as pflag prints them: "[a,b]", "1h0m0s", "A=true,B=false". Flags that are not set are left out. */
export function flagTexts<T extends FlagTable>(table: T, values: Values<T>): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, { type }] of Object.entries(table)) {
    const value: unknown = values[name];
    if (value === undefined) continue;
    if (type === 'list') texts[name] = `[${(value as FlagValues['list']).join(',')}]`;
    else if (type === 'duration') texts[name] = formatDuration(BigInt(Math.round((value as number) * 1e6)));
    else if (type === 'map')
      texts[name] = [...(value as FlagValues['map'])]
        .map(([key, inner]) => `${key}=${inner}`)
        .sort()
        .join(',');
    else texts[name] = String(value);
  }
  return texts;
}

function read(name: string, type: FlagType, given: readonly string[]): FlagValues[FlagType] {
  const last = given.at(-1)!;
  const refuse = (what: string) => new FlagError(`invalid argument ${JSON.stringify(last)} for --${name}: ${what}`);
  switch (type) {
    case 'text':
      return last;
    case 'number':
      if (!/^-?\d+(\.\d+)?$/.test(last)) throw refuse('must be a number');
      return Number(last);
    case 'switch':
      if (!/^(true|false|1|0|t|f)$/i.test(last)) throw refuse('must be true or false');
      return /^(true|1|t)$/i.test(last);
    case 'duration': {
      const duration = parseDuration(last);
      if (duration === undefined) throw refuse('must be a duration such as 10s or 1h30m');
      return Number(duration) / 1e6;
    }
    case 'list':
      return given.flatMap((text) => text.split(',')).filter((text) => text !== '');
    case 'map':
      return new Map(
        given
          .flatMap((text) => text.split(','))
          .filter((text) => text !== '')
          .map((pair) => entry(pair, refuse)),
      );
  }
}

function entry(pair: string, refuse: (what: string) => FlagError): [string, string] {
  const equals = pair.indexOf('=');
  if (equals < 1) throw refuse('must be key=value pairs');
  return [pair.slice(0, equals), pair.slice(equals + 1)];
}

export function flagHelp(usage: string, table: FlagTable): string {
  const rows = Object.entries(table).map(([name, { type, help, ignored, default: value }]) => {
    const left = `--${name}${type === 'switch' ? '' : ` ${type}`}`;
    return `  ${left.padEnd(44)} ${help}${value === undefined ? '' : ` (default ${value})`}${ignored === undefined ? '' : ` [accepted, without effect: ${ignored}]`}`;
  });
  return `Usage:\n  ${usage}\n\nFlags:\n${rows.join('\n')}\n`;
}
