import type { Node } from './structural.ts';

/** What YAML 1.1 reads as true or false when nobody quotes it. */
const yamlBoolean = /^(y|n|yes|no|on|off|true|false)$/i;

/** Places where a boolean-like word is right: Kubernetes fixed the one, and nobody writes the other by hand. */
const booleanWordsAllowed = [/^status\.conditions\[\]\.status$/, /^status\.finished$/];

type Check = (node: Node, path: string) => string | undefined;

const has = (node: Node, key: string): boolean => node[key] !== undefined;
const isMap = (node: Node): boolean => typeof node['additionalProperties'] === 'object';

const checks: readonly Check[] = [
  (node) => (has(node, 'description') ? undefined : 'has no description'),
  (node) => (node['type'] === 'number' || node['format'] === 'float' || node['format'] === 'double' ? 'is a float' : undefined),
  (node) => (node['type'] === 'string' && !has(node, 'maxLength') ? 'is a string without maxLength' : undefined),
  (node) => (node['x-kubernetes-int-or-string'] === true && !has(node, 'maxLength') ? 'is a quantity without maxLength' : undefined),
  (node) => (node['type'] === 'array' && !has(node, 'maxItems') ? 'is a list without maxItems' : undefined),
  (node) => (node['type'] === 'array' && !has(node, 'x-kubernetes-list-type') ? 'is a list without x-kubernetes-list-type' : undefined),
  (node) => (isMap(node) && !has(node, 'maxProperties') ? 'is a map without maxProperties' : undefined),
  (node) => (node['type'] === 'integer' && !(has(node, 'minimum') && has(node, 'maximum')) ? 'is an integer without bounds' : undefined),
  (node) => (node['type'] === 'object' && !isMap(node) && !has(node, 'properties') ? 'is an object of unknown shape' : undefined),
  (node) => (has(node, 'nullable') || node['x-kubernetes-preserve-unknown-fields'] === true ? 'takes more than it says' : undefined),
  (node, path) => {
    const words = ((node['enum'] ?? []) as readonly string[]).filter((word) => yamlBoolean.test(word));
    return words.length === 0 || booleanWordsAllowed.some((place) => place.test(path))
      ? undefined
      : `has the boolean-like value ${words[0]}`;
  },
  (node) => {
    const words = ((node['enum'] ?? []) as readonly string[]).filter((word) => !/^[A-Z][A-Za-z]*$/.test(word) && !yamlBoolean.test(word));
    return words.length === 0 ? undefined : `has the value ${words[0]}, which is not CamelCase`;
  },
  (_, path) => (yamlBoolean.test(path.split('.').at(-1)!) ? 'has a boolean-like name' : undefined),
  (node, path) => {
    const name = path.split('.').at(-1)!;
    const duration = node['type'] === 'integer' && /timeout|deadline|ttl|duration|interval|retention/i.test(name);
    return duration && !/(Seconds|Millis)/.test(name) ? 'is a duration whose name does not say its unit' : undefined;
  },
];

/** Where a schema breaks the conventions of our API, as sentences. */
export function conventionBreaches(node: Node, path: string): readonly string[] {
  const own = checks.flatMap((check) => {
    const breach = check(node, path);
    return breach === undefined ? [] : [`${path} ${breach}`];
  });
  const properties = Object.entries((node['properties'] ?? {}) as Record<string, Node>);
  return [
    ...own,
    ...properties.flatMap(([name, child]) => conventionBreaches(child, `${path}.${name}`)),
    ...(has(node, 'items') ? conventionBreaches(node['items'] as Node, `${path}[]`) : []),
    ...(isMap(node) ? conventionBreaches(node['additionalProperties'] as Node, `${path}{}`) : []),
  ];
}
