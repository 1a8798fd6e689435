// Owns what a recorded scenario is, how an answer is normalised and how two answers are compared. Sends nothing.

/** One exchange, or a watch with what happens during it. `{NAME}` in strings is replaced by what an earlier step saved. */
export interface Step {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Sent as it is, instead of `body` as JSON. */
  readonly text?: string;
  readonly note?: string;
  /** Variable → dotted path in the answer. */
  readonly save?: Readonly<Record<string, string>>;
  /** Compare just these paths of the body. */
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  /** Lists whose order does not matter. */
  readonly sort?: readonly string[];
  /** Tries, 250 ms apart, until `retryUntil` holds. */
  readonly retry?: number;
  readonly retryUntil?: { readonly status?: number; readonly path?: string; readonly equals?: unknown };
  readonly watch?: string;
  readonly events?: number;
  readonly during?: readonly Step[];
  readonly timeout?: number;
}

export interface Answer {
  status?: number;
  type?: string;
  body?: unknown;
  /** How many Warning headers came. */
  warnings?: number;
  events?: unknown[];
  during?: Answer[];
  error?: string;
}

export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly answers: readonly Answer[];
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** The value at a dotted path, list indexes included. */
export function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((here, key) => (isFields(here) ? here[key] : undefined), value);
}

/** Replaces `{NAME}` everywhere, keys included. */
export function fill<T>(value: T, variables: Readonly<Record<string, unknown>>): T {
  const walk = (here: unknown): unknown => {
    if (typeof here === 'string')
      return here.replace(/\{([A-Z][A-Z0-9_]*)\}/g, (all, name: string) => String(variables[name] ?? all));
    if (Array.isArray(here)) return here.map(walk);
    if (isFields(here)) return Object.fromEntries(Object.entries(here).map(([key, inner]) => [walk(key), walk(inner)]));
    return here;
  };
  return walk(value) as T;
}

/** Turns what differs between runs into placeholders numbered in order of first sight. One a scenario. */
export class Normaliser {
  readonly #seen = new Map<string, Map<string, string>>();
  readonly #generated = new Map<string, string>();

  #mark(kind: string, value: string): string {
    let known = this.#seen.get(kind);
    if (known === undefined) this.#seen.set(kind, (known = new Map()));
    let placeholder = known.get(value);
    if (placeholder === undefined) known.set(value, (placeholder = `<${kind}:${known.size + 1}>`));
    return placeholder;
  }

  text(text: string): string {
    return text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (uid) => this.#mark('uid', uid))
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
      .replace(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, (token) => this.#mark('token', token))
      .replace(/\b(kube-api-access-)[a-z0-9]{5}\b/g, '$1<rand>')
      .replace(/[\w.-]+-[a-z0-9]{5}\b/g, (name) => this.#generated.get(name) ?? name)
      .replace(/-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----\n?/g, '<pem>');
  }

  value(value: unknown, key = '', path = ''): unknown {
    if (typeof value === 'string') return this.#string(value, key, path);
    if (typeof value === 'number')
      return /^(nodePort|healthCheckNodePort)$/.test(key) && value > 29999 ? '<port>' : value;
    if (Array.isArray(value)) {
      const inner = /^(clusterIPs|podIPs|hostIPs)$/.test(key) ? key.slice(0, -1) : key;
      return value.map((item, index) => this.value(item, inner, `${path}.${index}`));
    }
    return isFields(value) ? this.#fields(value, path) : value;
  }

  #string(value: string, key: string, path: string): string {
    if (/resourceVersion$/i.test(key)) return value === '' || value === '0' ? value : '<rv>';
    if (/^(clusterIP|podIP|hostIP)$/.test(key) && /\d+\.\d+\.\d+\.\d+/.test(value)) return this.#mark('ip', value);
    if (/\.rows\.\d+\.cells\.\d+$/.test(path) && /^(\d+[smhdy])+$/.test(value)) return '<age>';
    if (key === 'continue') return value === '' ? value : '<continue>';
    return this.text(value);
  }

  #fields(value: Fields, path: string): Fields {
    const name = at(value, 'metadata.name');
    const prefix = at(value, 'metadata.generateName');
    if (typeof name === 'string' && typeof prefix === 'string' && prefix !== '' && name.startsWith(prefix))
      if (!this.#generated.has(name)) this.#generated.set(name, `${prefix}<rand:${this.#generated.size + 1}>`);
    const result: Fields = {};
    for (const key of Object.keys(value).sort()) {
      if (key === 'description' && /\.columnDefinitions\.\d+$/.test(path)) continue;
      const aboutErrors = value['kind'] === 'Status' || path.endsWith('.causes') || /\.causes\.\d+$/.test(path);
      if (key === 'message' && aboutErrors) continue;
      result[key] = this.value(value[key], key, `${path}.${key}`);
    }
    return result;
  }
}

function drop(value: unknown, path: string): void {
  const [key, ...rest] = path.split('.');
  if (!isFields(value) || key === undefined) return;
  if (key === '*') for (const inner of Object.values(value)) drop(inner, rest.join('.'));
  else if (rest.length === 0) delete value[key];
  else drop(value[key], rest.join('.'));
}

/** What of an answer the step asks to compare. */
function view(answer: Answer, step: Step): Answer {
  const seen = structuredClone(answer);
  for (const path of step.ignore ?? []) drop(seen.body, path);
  for (const path of step.sort ?? []) {
    const list = path === '' ? seen.body : at(seen.body, path);
    if (Array.isArray(list)) list.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  if (step.only) seen.body = Object.fromEntries(step.only.map((path) => [path, at(seen.body, path)]));
  return seen;
}

/** A line for each place where two JSON values differ. */
export function differences(want: unknown, got: unknown, path = ''): string[] {
  if (JSON.stringify(want) === JSON.stringify(got)) return [];
  if (isFields(want) && isFields(got) && Array.isArray(want) === Array.isArray(got)) {
    const keys = new Set([...Object.keys(want), ...Object.keys(got)]);
    return [...keys].flatMap((key) => differences(want[key], got[key], `${path}/${key}`));
  }
  const shown = (value: unknown): string | undefined => JSON.stringify(value)?.slice(0, 300);
  return [`${path || '/'}: want ${shown(want)} got ${shown(got)}`];
}

/** How an answer departs from the recorded one; empty when it does not. */
export function compare(step: Step, want: Answer, got: Answer): string[] {
  const slip = want.status === 500 && at(want.body, 'reason') === undefined;
  const refused = (got.status ?? 0) >= 400 && (got.status ?? 0) < 500 && at(got.body, 'kind') === 'Status';
  return slip && refused ? [] : differences(view(want, step), view(got, step));
}
