// Owns what a person sees while something long goes on: one line a stage with its time, rewritten in place on a terminal.
import type { Clock } from '../base/clock.ts';

export interface TextSink {
  write(text: string): void;
  /** A terminal: lines may be rewritten and coloured. */
  readonly interactive: boolean;
}

export interface Progress {
  /** Runs one stage; its failure is shown and thrown on. `detail` may say more when it is done. */
  stage<T>(title: string, work: (detail: (text: string) => void) => Promise<T> | T): Promise<T>;
  /** A line between stages. */
  note(text: string): void;
}

export function progress(sink: TextSink, clock: Clock): Progress {
  const style = (code: number, text: string) => (sink.interactive ? `\u001b[${code}m${text}\u001b[0m` : text);
  return {
    async stage(title, work) {
      const start = clock.monotonic();
      let more = '';
      const seconds = () => `${((clock.monotonic() - start) / 1000).toFixed(2)} s`;
      if (sink.interactive) sink.write(` ${style(33, '…')} ${title}`);
      const clear = sink.interactive ? '\r\u001b[K' : '';
      try {
        const result = await work((text) => {
          more = ` — ${text}`;
        });
        sink.write(`${clear} ${style(32, '✓')} ${title}${more} ${style(2, seconds())}\n`);
        return result;
      } catch (error) {
        sink.write(`${clear} ${style(31, '✗')} ${title} ${style(2, seconds())}\n`);
        throw error;
      }
    },
    note: (text) => sink.write(`   ${text}\n`),
  };
}
