import type { TSchema } from 'typebox';
import { rulesKey, type Rule } from '../schema/index.ts';
import { apiVersion, group, version } from '../base/group.ts';

/** A column of `kubectl get`; priority 1 shows it with `-o wide` only. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date' | 'boolean';
  readonly jsonPath: string;
  readonly description: string;
  readonly priority?: 1;
}

/** One of our kinds: everything that its CRD, its validators and its reference page are made from. */
export interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly description: string;
  readonly spec: TSchema;
  /** Absent: it has no status. */
  readonly status?: TSchema;
  /** True: an admission policy has the rules of the spec, and the CRD does not, because the status is written often. */
  readonly rulesInPolicy?: true;
  /** Rules over the whole object; they alone see `metadata.name`. */
  readonly rules: readonly Rule[];
  readonly columns: readonly Column[];
  /** Fields that list and watch may select by, at most 8. */
  readonly selectable: readonly string[];
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string; readonly labelSelectorPath: string };
}

/** Names of tasks and pools become label values, which hold 63 characters. */
export const nameFitsLabel: Rule = {
  rule: 'self.metadata.name.size() <= 63',
  message: 'metadata.name may have 63 characters, because it becomes the value of labels; shorten it',
};

/** The age column, which every kind has. */
export const ageColumn: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation.',
};

/** A column with the status or the reason of a condition. */
export function conditionColumn(name: string, condition: string, member: 'status' | 'reason' | 'message', priority?: 1): Column {
  return {
    name,
    type: 'string',
    jsonPath: `.status.conditions[?(@.type=="${condition}")].${member}`,
    description: `The ${member} of the condition ${condition}.`,
    ...(priority === undefined ? {} : { priority }),
  };
}

/** A JSON Schema node as plain data. */
export type Node = Readonly<Record<string, unknown>>;

/** Members of a node in the order in which they are written. */
const order = [
  'description',
  'type',
  'format',
  'enum',
  'default',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'maxProperties',
  'anyOf',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
  'required',
  'properties',
  'additionalProperties',
  'items',
] as const;

/** Members that carry schemas or need a decision; all others of {@link order} are copied. */
function convert(key: string, value: unknown, node: Node): unknown {
  switch (key) {
    case 'items':
      return structural(value as Node);
    case 'properties':
      return Object.fromEntries(Object.entries(value as Record<string, Node>).map(([name, child]) => [name, structural(child)]));
    case 'additionalProperties':
      // False means the same as the pruning and strict validation of the API server, which refuses it beside them.
      return value === false ? undefined : structural(value as Node);
    case 'required':
      return requiredWithoutDefaults(node);
    default:
      return value;
  }
}

/** Fields with a default are always there after admission, yet a manifest need not have them. */
export function requiredWithoutDefaults(node: Node): readonly string[] | undefined {
  const properties = (node['properties'] ?? {}) as Record<string, Node>;
  const required = ((node['required'] ?? []) as readonly string[]).filter((name) => !('default' in (properties[name] ?? {})));
  return required.length === 0 ? undefined : required;
}

/**
 * The structural OpenAPI schema that a CRD holds, from one of our schemas. Members that Kubernetes does not know are
 * dropped; a member of JSON Schema that has no meaning here is a mistake and throws.
 */
export function structural(node: Node): Node {
  const unknown = Object.keys(node).filter(
    (key) => !(order as readonly string[]).includes(key) && !key.startsWith('x-agentfleet-') && !key.startsWith('~'),
  );
  if (unknown.length > 0) throw new Error(`schema members without meaning in a CRD: ${unknown.join(', ')}`);
  const entries = order.filter((key) => key in node).map((key) => [key, convert(key, node[key], node)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** JSON Schema of the whole object: what validators of other parts and the CRD are made from. */
export function objectSchema(kind: Kind): Node {
  return {
    type: 'object',
    description: kind.description,
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Group and version.', enum: [apiVersion], maxLength: apiVersion.length },
      kind: { type: 'string', description: 'Kind of the object.', enum: [kind.kind], maxLength: kind.kind.length },
      metadata: { type: 'object', description: 'Name, labels and owners.' },
      spec: kind.spec,
      ...(kind.status === undefined ? {} : { status: kind.status }),
    },
  };
}

/** A schema without the rules that the API server evaluates at each write. */
export function withoutRules<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map((each) => withoutRules<unknown>(each)) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(([key]) => key !== rulesKey);
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutRules<unknown>(value)])) as T;
}

function rootSchema(kind: Kind): Node {
  const root = structural(objectSchema(kind)) as { readonly properties: Node };
  const inPolicy = kind.rulesInPolicy === true;
  const meta = (description: string): Node => ({ description, type: 'string' });
  return {
    ...root,
    required: ['spec'],
    ...(kind.rules.length === 0 || inPolicy ? {} : { 'x-kubernetes-validations': kind.rules }),
    properties: {
      ...root.properties,
      ...(inPolicy ? { spec: withoutRules(root.properties['spec']) } : {}),
      apiVersion: meta('Group and version of the object.'),
      kind: meta('Kind of the object.'),
      metadata: { type: 'object' },
    },
  };
}

/** The CustomResourceDefinition of a kind, as data. */
export function customResourceDefinition(kind: Kind): Node {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        shortNames: [kind.shortName],
        categories: ['agentfleet'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(kind.status === undefined
            ? {}
            : { subresources: { status: {}, ...(kind.scale === undefined ? {} : { scale: kind.scale }) } }),
          ...(kind.selectable.length === 0 ? {} : { selectableFields: kind.selectable.map((jsonPath) => ({ jsonPath })) }),
          additionalPrinterColumns: kind.columns,
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

/** Words that YAML 1.1 reads as true or false without quotes. */
const yamlBoolean = /^(y|n|yes|no|on|off|true|false)$/i;

/** Places where a boolean-like word is right: Kubernetes fixed the one, and the other is never written by hand. */
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

/** Lists the breaches of our API conventions in a schema, as sentences. */
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
