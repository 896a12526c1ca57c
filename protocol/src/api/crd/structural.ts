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
      // False says the same as the pruning and strict validation of the API server, which refuses to hear it twice.
      return value === false ? undefined : structural(value as Node);
    case 'required':
      return requiredWithoutDefaults(node);
    default:
      return value;
  }
}

/** Fields with a default are always there after admission, yet nobody has to write them. */
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
