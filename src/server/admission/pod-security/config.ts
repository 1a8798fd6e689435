// Owns the reading of PodSecurityConfiguration. Throws for what it does not understand: a policy is never guessed.
import { defaultPodSecurity } from './pod-security.ts';
import type { PodSecurityConfig } from './pod-security.ts';
import { isLevel, minorOf } from './policy.ts';
import type { LevelVersion } from './policy.ts';

export function podSecurityConfig(given: Readonly<Record<string, unknown>> | undefined): PodSecurityConfig {
  if (given === undefined) return defaultPodSecurity;
  const defaults = (given['defaults'] ?? {}) as Readonly<Record<string, unknown>>;
  const exemptions = (given['exemptions'] ?? {}) as Readonly<Record<string, unknown>>;
  const read = (mode: string): LevelVersion => {
    const level = String(defaults[mode] ?? 'privileged');
    const minor = minorOf(String(defaults[`${mode}-version`] ?? 'latest'));
    if (!isLevel(level)) throw new Error(`PodSecurity: defaults.${mode} is no level: ${level}`);
    if (minor === null) throw new Error(`PodSecurity: defaults.${mode}-version is no version`);
    return { level, minor };
  };
  const texts = (field: string): string[] => {
    const value = exemptions[field] ?? [];
    if (!Array.isArray(value)) throw new Error(`PodSecurity: exemptions.${field} must be a list`);
    return value.map(String);
  };
  return {
    defaults: { enforce: read('enforce'), audit: read('audit'), warn: read('warn') },
    exemptions: {
      usernames: texts('usernames'),
      namespaces: texts('namespaces'),
      runtimeClasses: texts('runtimeClasses'),
    },
  };
}
