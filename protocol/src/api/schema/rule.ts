// protocol, api/schema: CEL validation rules, and schemas that carry them. Imports TypeBox alone.

/** One entry of `x-kubernetes-validations`: a CEL expression over `self` (and `oldSelf`, which makes it a transition rule). */
export interface Rule {
  readonly rule: string;
  /** Names the field and the cure; at most 5 KB. */
  readonly message: string;
  /** CEL expression for a message with values in it; `message` is the fallback. */
  readonly messageExpression?: string;
}

/** A rule with a fixed message. */
export function rule(expression: string, message: string, messageExpression?: string): Rule {
  return { rule: expression, message, ...(messageExpression === undefined ? {} : { messageExpression }) };
}

/** Key of a schema under which Kubernetes finds the rules. */
export const rulesKey = 'x-kubernetes-validations';

/** Key of a schema under which our generators find what may change after creation; it never reaches the CRD. */
export const mutabilityKey = 'x-agentfleet-mutability';

/** Changes that a field of an existing object may take. */
export type Mutability = 'Mutable' | 'Immutable' | 'Upward' | 'Escalating';

/** The rules that a schema carries itself. */
export function rulesOf(schema: object): readonly Rule[] {
  return (schema as { [rulesKey]?: readonly Rule[] })[rulesKey] ?? [];
}

/** A copy of a schema with further members; TypeBox keeps its marks in hidden properties, which are copied too. */
export function extend<S extends object>(schema: S, members: Readonly<Record<string, unknown>>): S {
  const copy = Object.create(Object.getPrototypeOf(schema) as object, Object.getOwnPropertyDescriptors(schema)) as S;
  return Object.assign(copy, members);
}

/** A copy of a schema that carries these rules after its own. */
export function withRules<S extends object>(schema: S, ...rules: readonly Rule[]): S {
  return extend(schema, { [rulesKey]: [...rulesOf(schema), ...rules] });
}
