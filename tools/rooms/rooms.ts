// Owns the rules of the source: who may import whom (the table of ARCHITECTURE.md), no ambient inputs, no long files, nothing exported in vain.

/** Each room with the rooms that it may import beside itself. */
export const rooms: Readonly<Record<string, readonly string[] | '*'>> = {
  base: [],
  wire: ['base'],
  api: ['base'],
  store: ['base', 'wire'],
  client: ['base', 'wire', 'api'],
  server: ['base', 'wire', 'api', 'store', 'client'],
  controllers: ['base', 'api', 'client'],
  cloud: ['base', 'api', 'client'],
  scheduler: ['base', 'api', 'client'],
  kubelet: ['base', 'wire', 'api', 'client'],
  'metrics-server': ['base', 'wire', 'api', 'client', 'server'],
  proxy: ['base', 'api', 'client'],
  dns: ['base', 'wire', 'api', 'client'],
  cli: ['base', 'wire', 'api', 'client'],
  dashboard: ['base', 'wire', 'api', 'client'],
  main: '*',
  testing: '*',
};

/** Rooms that nobody may import: compositions and test help. */
const closed: ReadonlySet<string> = new Set(['main', 'testing']);

/** Ambient inputs that only base and main may touch: they make virtual time, simulation and replay possible. */
const ambient: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /\bDate\.now\(\)|\bnew Date\(\)|\bperformance\.now\(\)/, what: 'ambient time: take a Clock' },
  { pattern: /\bMath\.random\(\)|\brandomBytes\(|\brandomUUID\(/, what: 'ambient chance: take a Random' },
  { pattern: /\bprocess\.(env|argv|exit)\b/, what: 'ambient environment: read in main and pass on' },
  { pattern: /\bconsole\./, what: 'console: take a Logger' },
  { pattern: /(?<![.\w])(setTimeout|setInterval)\(/, what: 'ambient timer: take a Clock' },
];

export interface SourceFile {
  /** Relative to the project: "src/server/verbs.ts". */
  readonly path: string;
  readonly text: string;
}

const importPattern = /(?:^|\n)\s*(?:import|export)\b[^;'"]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g;

function importsOf(file: SourceFile): string[] {
  return [...file.text.matchAll(importPattern)]
    .map((match) => match[1] ?? match[2]!)
    .filter((target) => target.startsWith('.'));
}

function resolveImport(from: string, target: string): string {
  const parts = from.split('/').slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

function roomOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts[0] === 'src' && parts.length > 2 ? parts[1] : undefined;
}

const isTest = (path: string): boolean => /\.(test|suite)\.ts$/.test(path);

/** What is wrong, a line each; empty when all is well. `others` are files outside of src that use what it exports. */
export function checkRooms(files: readonly SourceFile[], others: readonly SourceFile[] = []): string[] {
  return [
    ...files.flatMap((file) => [...checkImports(file), ...checkAmbient(file), ...checkSize(file)]),
    ...checkExports(files, others),
  ];
}

function checkImports(file: SourceFile): string[] {
  const room = roomOf(file.path);
  if (room === undefined) return [];
  const allowed = rooms[room];
  if (allowed === undefined) return [`${file.path}: no room named ${room}`];
  return importsOf(file).flatMap((target) => {
    const other = roomOf(resolveImport(file.path, target));
    if (other === undefined || other === room) return [];
    if (other === 'testing' && (isTest(file.path) || room === 'main')) return [];
    if (allowed !== '*' && !allowed.includes(other) && !isTest(file.path))
      return [`${file.path}: ${room} may not import ${other}`];
    if (closed.has(other) && !isTest(file.path) && allowed !== '*') return [`${file.path}: nobody imports ${other}`];
    return [];
  });
}

function checkAmbient(file: SourceFile): string[] {
  const room = roomOf(file.path);
  if (room === undefined || room === 'base' || room === 'main' || isTest(file.path)) return [];
  return file.text.split('\n').flatMap((line, at) => {
    const code = line.replace(/\/\/.*$/, '');
    return ambient.filter(({ pattern }) => pattern.test(code)).map(({ what }) => `${file.path}:${at + 1}: ${what}`);
  });
}

const maxLines = 700;

function checkSize(file: SourceFile): string[] {
  const lines = file.text.split('\n').length;
  return lines > maxLines && !file.path.includes('/generated/') && !isTest(file.path)
    ? [`${file.path}: ${lines} lines, more than ${maxLines}`]
    : [];
}

const exportedValue = /^export (?:async )?(?:const|function\*?|class|let) (\w+)/gm;

/** Values only: a type is exported so that a signature can be read, even if nobody names it. */
function checkExports(files: readonly SourceFile[], others: readonly SourceFile[]): string[] {
  const users = new Map<string, number>();
  for (const { text } of [...files, ...others])
    for (const word of new Set(text.match(/\w+/g))) users.set(word, (users.get(word) ?? 0) + 1);
  return files
    .filter(({ path }) => !path.includes('/generated/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(exportedValue)]
        .filter(([, name]) => users.get(name!) === 1)
        .map(([, name]) => `${path}: exports ${name}, which no other file uses`),
    );
}
