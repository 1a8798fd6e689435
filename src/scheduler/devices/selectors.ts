// Owns CEL selectors of devices: what `device` is in them, compiled once, evaluated within a budget.
import { LRUCache } from 'lru-cache';
import type { Frozen } from '../../api/meta.ts';
import type { Device, DeviceAttribute } from '../../api/generated/resource.v1.ts';
import { type CompiledExpression, environment } from '../../api/cel/environment.ts';
import { bool, dyn, map, opaque, string, type StructType } from '../../api/cel/types.ts';
import { ArrayList, type CelMap, type CelValue, EntryMap } from '../../api/cel/values.ts';

const fields = {
  driver: string,
  attributes: map(string, map(string, dyn)),
  capacity: map(string, map(string, opaque('kubernetes.Quantity'))),
  allowMultipleAllocations: bool,
};

const deviceType: StructType = {
  kind: 'struct',
  name: 'kubernetes.DRADevice',
  field: (name) => (Object.hasOwn(fields, name) ? fields[name as keyof typeof fields] : undefined),
};

const selectors = environment({ variables: { device: deviceType } });
const parsing = environment({ variables: { text: string } });
const toQuantity = parsing.compile('quantity(text)');
const toVersion = parsing.compile('semver(text)');
const read = (program: CompiledExpression, text: string): CelValue =>
  program.evaluate((name) => (name === 'text' ? text : undefined)).value;

/** What one selector may cost on one device, as upstream limits it. */
const maxCost = 1_000_000;

const programs = new LRUCache<string, CompiledExpression>({ max: 1000 });
const values = new WeakMap<object, CelValue>();

/** Throws CelSyntaxError for an expression that cannot be compiled, CelError for one that fails on this device. */
export function selects(expression: string, driver: string, device: Frozen<Device>): boolean {
  let program = programs.get(expression);
  if (program === undefined) programs.set(expression, (program = selectors.compile(expression)));
  let value = values.get(device);
  if (value === undefined) values.set(device, (value = deviceValue(driver, device)));
  return program.evaluate((name) => (name === 'device' ? value : undefined), maxCost).value === true;
}

function deviceValue(driver: string, device: Frozen<Device>): CelValue {
  const attributes = byDomain(driver, device.attributes ?? {}, attributeValue);
  const capacity = byDomain(driver, device.capacity ?? {}, (each) => read(toQuantity, each.value));
  return new EntryMap(
    [
      ['driver', driver],
      ['attributes', attributes],
      ['capacity', capacity],
      ['allowMultipleAllocations', device.allowMultipleAllocations === true],
    ],
    deviceType.name,
  );
}

function attributeValue(attribute: Frozen<DeviceAttribute>): CelValue {
  if (attribute.int !== undefined) return BigInt(attribute.int);
  if (attribute.bool !== undefined) return attribute.bool;
  if (attribute.string !== undefined) return attribute.string;
  if (attribute.version !== undefined) return read(toVersion, attribute.version);
  if (attribute.ints !== undefined) return new ArrayList(attribute.ints.map((each) => BigInt(each)));
  if (attribute.bools !== undefined) return new ArrayList([...attribute.bools]);
  if (attribute.strings !== undefined) return new ArrayList([...attribute.strings]);
  return new ArrayList((attribute.versions ?? []).map((each) => read(toVersion, each)));
}

/** Names without a domain are the driver's own. A domain that the device has nothing of is an empty map, not an error. */
function byDomain<T>(driver: string, named: Readonly<Record<string, T>>, valueOf: (each: T) => CelValue): CelMap {
  const domains = new Map<string, [CelValue, CelValue][]>();
  for (const [qualified, each] of Object.entries(named)) {
    const [domain, name] = splitName(driver, qualified);
    const known = domains.get(domain);
    if (known === undefined) domains.set(domain, [[name, valueOf(each)]]);
    else known.push([name, valueOf(each)]);
  }
  const maps = new Map([...domains].map(([domain, entries]) => [domain, new EntryMap(entries)]));
  const none = new EntryMap([]);
  return {
    kind: 'map',
    size: maps.size,
    get: (key) => (typeof key === 'string' ? (maps.get(key) ?? none) : undefined),
    keys: () => maps.keys(),
  };
}

function splitName(driver: string, qualified: string): [domain: string, name: string] {
  const slash = qualified.indexOf('/');
  return slash < 0 ? [driver, qualified] : [qualified.slice(0, slash), qualified.slice(slash + 1)];
}

/** The attribute of a fully qualified name as a comparable text; undefined when the device lacks it. */
export function attributeText(driver: string, device: Frozen<Device>, qualified: string): string | undefined {
  const [domain, name] = splitName(driver, qualified);
  const attribute = device.attributes?.[qualified] ?? (domain === driver ? device.attributes?.[name] : undefined);
  return attribute === undefined ? undefined : JSON.stringify(attribute);
}
