// Owns levels and versions of pod security: read from a namespace's labels, and which controls they mean. Pure.
import type { FieldError } from '../../../api/status-error.ts';
import * as fieldError from '../../../api/field-error.ts';
import { controls } from './controls.ts';
import type { Control, PodView } from './controls.ts';

export type Level = 'privileged' | 'baseline' | 'restricted';

export interface LevelVersion {
  readonly level: Level;
  /** Minor of 1.x; undefined: latest. */
  readonly minor: number | undefined;
}

export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

export type Mode = keyof Policy;

const prefix = 'pod-security.kubernetes.io/';
const levels: readonly string[] = ['privileged', 'baseline', 'restricted'];
/** The newest version whose controls are known. */
const latest = 37;

export function isLevel(text: string): text is Level {
  return levels.includes(text);
}

/** "latest", "v1.28"; null when it is neither. */
export function minorOf(text: string): number | undefined | null {
  if (text === 'latest') return undefined;
  const match = /^v1\.(0|[1-9]\d{0,3})$/.exec(text);
  return match === null ? null : Number(match[1]);
}

export interface ReadPolicy {
  readonly policy: Policy;
  readonly errors: readonly FieldError[];
}

/** A label that cannot be read counts as the strictest, and is an error. Without a warn label, warnings are those of enforce. */
export function readPolicy(labels: Readonly<Record<string, string>> | undefined, defaults: Policy): ReadPolicy {
  const errors: FieldError[] = [];
  const read = (mode: Mode, otherwise: LevelVersion): LevelVersion => {
    const levelText = labels?.[prefix + mode];
    const versionText = labels?.[`${prefix}${mode}-version`];
    let { level, minor } = otherwise;
    if (levelText !== undefined) {
      if (isLevel(levelText)) level = levelText;
      else {
        level = mode === 'enforce' ? 'restricted' : level;
        errors.push(
          fieldError.invalid(`metadata.labels[${prefix}${mode}]`, levelText, `must be one of ${levels.join(', ')}`),
        );
      }
    }
    if (versionText !== undefined) {
      const parsed = minorOf(versionText);
      if (parsed === null) {
        minor = undefined;
        errors.push(
          fieldError.invalid(`metadata.labels[${prefix}${mode}-version]`, versionText, 'must be "latest" or "v1.x"'),
        );
      } else minor = parsed;
    }
    return { level, minor };
  };
  const enforce = read('enforce', defaults.enforce);
  const audit = read('audit', defaults.audit);
  const isSaid = labels?.[`${prefix}enforce`] !== undefined;
  const warn = read('warn', isSaid && strictness(enforce) > strictness(defaults.warn) ? enforce : defaults.warn);
  return { policy: { enforce, audit, warn }, errors };
}

export function strictness({ level }: LevelVersion): number {
  return levels.indexOf(level);
}

export function isSame(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.minor === b.minor;
}

export function shown({ level, minor }: LevelVersion): string {
  return `${level}:${minor === undefined ? 'latest' : `v1.${minor}`}`;
}

const compiled = new Map<string, readonly ((pod: PodView) => string | undefined)[]>();

/** What violates the policy, in the order of the controls; empty when nothing does. */
export function violations(wanted: LevelVersion, pod: PodView): string[] {
  if (wanted.level === 'privileged') return [];
  const minor = Math.min(wanted.minor ?? latest, latest);
  const key = `${wanted.level} ${minor}`;
  let checks = compiled.get(key);
  if (checks === undefined) compiled.set(key, (checks = checksOf(wanted.level, minor)));
  return checks.map((check) => check(pod)).filter((text) => text !== undefined);
}

function checksOf(level: 'baseline' | 'restricted', minor: number): ((pod: PodView) => string | undefined)[] {
  const ruleOf = ({ rules }: Control) => rules.findLast(({ since }) => since <= minor)?.check;
  const holding = controls.filter((control) => level === 'restricted' || control.level === 'baseline');
  const replaced = new Set(
    holding.filter((control) => control.level === 'restricted' && ruleOf(control) !== undefined).map(({ id }) => id),
  );
  return holding
    .filter(({ replacedBy }) => replacedBy === undefined || !replaced.has(replacedBy))
    .map(ruleOf)
    .filter((check) => check !== undefined);
}
