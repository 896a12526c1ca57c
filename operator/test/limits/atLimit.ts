// operator, test/limits: largest values that a schema allows, and the bounds they reach. May import operator, kube and protocol.

/** A schema node, as data. */
export type Node = Readonly<Record<string, unknown>>;

/**
 * Values to take at a place (`spec.checks[].name`) instead of the largest that its schema allows, because a rule forbids it;
 * undefined: it is left out. `at`: position in the innermost list.
 */
export type Choices = Readonly<Record<string, (at: number) => unknown>>;

const longestPart = 63;
const longestPrefix = 253;

/** Three digits that distinguish members of a list. */
const digits = (at: number): string => String(at).padStart(3, '0');

/** A name of so many characters, another one for each position. */
export const longName = (length: number, at = 0): string => `${'x'.repeat(length - 4)}n${digits(at)}`;

/** The longest key that a label or an annotation may have. */
export const longKey = (at: number): string => `${longName(longestPrefix, at)}/${longName(longestPart, at)}`;

/** Texts of one length, from those that few schemas take to those that many do. */
const texts: readonly ((length: number, at: number) => string)[] = [
  (length, at) => `${digits(at)}${'\u{1F9EA}'.repeat(length - 3)}`,
  (length, at) => longName(length, at),
  () => `sha256:${'f'.repeat(64)}`,
  () => '-999999999.999999999',
  () => '999999.999999999',
  () => '999999999.999999',
  () => '0.999999999',
  (length) => `s${'9'.repeat(length - 1)}`,
];

/** Characters, as the API server counts them. */
const length = (text: string): number => Array.from(text).length;

function longest({ maxLength, pattern }: Node, at: number, path: string): string {
  const most = maxLength as number | undefined;
  if (most === undefined) throw new RangeError(`${path} has no maxLength: anybody could fill etcd with it`);
  const fits = (text: string): boolean => length(text) === most && (pattern === undefined || new RegExp(pattern as string, 'u').test(text));
  const found = texts.map((text) => text(Math.max(most, 4), at)).find(fits);
  if (found === undefined) throw new RangeError(`${path} takes no text that is known here; name one for it`);
  return found;
}

/** The largest value that a schema takes. Pure. @throws RangeError for a place without a bound, or without a known text */
export function atLimit(schema: Node, choices: Choices, path: string, at = 0): unknown {
  const choice = choices[path];
  if (choice !== undefined) return choice(at);
  const { enum: values, properties, additionalProperties, items, type, maximum, maxItems, maxProperties } = schema;
  // Members of a list differ.
  if (values !== undefined) return (values as readonly unknown[]).at(path.endsWith('[]') ? at : -1);
  if (items !== undefined)
    return Array.from({ length: maxItems as number }, (_, index) => atLimit(items as Node, choices, `${path}[]`, index));
  if (properties !== undefined) {
    const entries = Object.entries(properties as Readonly<Record<string, Node>>);
    const values = entries.map(([name, child]) => [name, atLimit(child, choices, `${path}.${name}`, at)] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  }
  if (typeof additionalProperties === 'object' && additionalProperties !== null) {
    const entries = Array.from({ length: maxProperties as number }, (_, index) => [
      longKey(index),
      atLimit(additionalProperties as Node, choices, `${path}{}`, index),
    ]);
    return Object.fromEntries(entries);
  }
  if (type === 'boolean') return schema['default'] ?? true;
  return type === 'integer' ? maximum : longest(schema, at, path);
}

/** Every bound that a schema has above, as `spec.checks maxItems`. */
export function boundsOf(schema: Node, path: string): readonly string[] {
  const { properties, additionalProperties, items, enum: values } = schema;
  const own =
    values !== undefined ? [] : ['maximum', 'maxLength', 'maxItems', 'maxProperties'].filter((bound) => schema[bound] !== undefined);
  const children = Object.entries((properties ?? {}) as Readonly<Record<string, Node>>);
  return [
    ...own.map((bound) => `${path} ${bound}`),
    ...children.flatMap(([name, child]) => boundsOf(child, `${path}.${name}`)),
    ...(items === undefined ? [] : boundsOf(items as Node, `${path}[]`)),
    ...(typeof additionalProperties === 'object' && additionalProperties !== null
      ? boundsOf(additionalProperties as Node, `${path}{}`)
      : []),
  ];
}

/** Lists the bounds that a value reaches. */
export function reached(schema: Node, value: unknown, path: string): readonly string[] {
  if (value === undefined || schema['enum'] !== undefined) return [];
  const { properties, additionalProperties, items } = schema;
  const on = (bound: string, size: number): readonly string[] => (schema[bound] === size ? [`${path} ${bound}`] : []);
  if (typeof value === 'string') return on('maxLength', length(value));
  if (typeof value === 'number') return on('maximum', value);
  if (Array.isArray(value))
    return [...on('maxItems', value.length), ...value.flatMap((item: unknown) => reached(items as Node, item, `${path}[]`))];
  if (typeof value !== 'object' || value === null) return [];
  const entries = Object.entries(value);
  if (properties === undefined)
    return [
      ...on('maxProperties', entries.length),
      ...entries.flatMap(([, item]) => reached(additionalProperties as Node, item, `${path}{}`)),
    ];
  const known = properties as Readonly<Record<string, Node>>;
  return entries.flatMap(([name, item]) => (known[name] === undefined ? [] : reached(known[name], item, `${path}.${name}`)));
}
