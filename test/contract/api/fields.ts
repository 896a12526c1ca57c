// test, contract/api: read and change of places in objects and schemas, by path. May import any package.

/** A schema node or an object, as data. */
export type Node = Readonly<Record<string, unknown>>;

/** Names from the root to a place inside an object; numbers are positions in lists. */
export type Path = readonly (string | number)[];

/** Reads `a.b[0].c` into its names. */
export function parsePath(path: string): Path {
  return path.split('.').flatMap((part) => {
    const [name, ...positions] = part.split(/\[|\]\[?/).filter((text) => text !== '');
    return [name!, ...positions.map(Number)];
  });
}

/** A copy with one place set; undefined removes it. Objects on the way are made. */
export function withValue<T>(object: T, path: Path | string, value: unknown): T {
  const copy = structuredClone(object);
  const names = typeof path === 'string' ? parsePath(path) : path;
  let at = copy as Record<string | number, unknown>;
  for (const name of names.slice(0, -1)) at = (at[name] ??= {}) as Record<string | number, unknown>;
  const last = names.at(-1)!;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

/** A copy with several places set. */
export function withValues<T>(object: T, changes: Readonly<Record<string, unknown>>): T {
  return Object.entries(changes).reduce((at, [path, value]) => withValue(at, path, value), object);
}

export interface Place {
  readonly path: Path;
  readonly schema: Node;
  readonly value: unknown;
}

/** Every place of `value` that `schema` describes, the root first. */
export function places(schema: Node, value: unknown, path: Path = []): readonly Place[] {
  const here: Place = { path, schema, value };
  if (Array.isArray(value))
    return [here, ...value.flatMap((item: unknown, index) => places(schema['items'] as Node, item, [...path, index]))];
  if (typeof value !== 'object' || value === null || !('properties' in schema)) return [here];
  const properties = schema['properties'] as Record<string, Node>;
  return [
    here,
    ...Object.entries(value).flatMap(([name, child]) =>
      properties[name] === undefined ? [] : places(properties[name], child, [...path, name]),
    ),
  ];
}

/** `spec.setup[0].name`, as the API server writes it. */
export function fieldName(path: Path): string {
  return path.reduce<string>((text, name) => (typeof name === 'number' ? `${text}[${name}]` : text === '' ? name : `${text}.${name}`), '');
}

/** `spec.setup[].name`, as our reference writes it. */
export function fieldPattern(path: Path): string {
  return fieldName(path).replaceAll(/\[\d+\]/g, '[]');
}
