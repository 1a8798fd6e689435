// Owns the lines of CRI log files: "time stream tag content". Pure.

export interface CriLine {
  /** RFC 3339 with nanoseconds, as written. */
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  /** With its newline, unless the line is one part of a longer one. */
  readonly content: string;
}

/** Undefined for what is no log line. */
export function parseCriLine(line: string): CriLine | undefined {
  const match = /^(\S+) (stdout|stderr) (\S+) ([\s\S]*)$/.exec(line);
  if (!match) return undefined;
  const isPart = match[3]!.split(':').includes('P');
  return {
    time: match[1]!,
    stream: match[2] as CriLine['stream'],
    content: isPart ? match[4]! : `${match[4]!}\n`,
  };
}
