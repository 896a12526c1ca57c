import { Type, type Static, type TSchema, type TUnsafe } from 'typebox';
import { rule, rulesKey, type Rule } from './rule.ts';
import { choice } from './scalars.ts';

/** Members of a union by the value of `type`; null where the type needs no member. */
export type Members = Readonly<Record<string, TSchema | null>>;

/** The object's type: for each value of `type` the one member that goes with it. */
export type UnionOf<M extends Members> = {
  [K in keyof M & string]: { type: K } & (M[K] extends TSchema ? { [P in MemberName<K>]: Static<M[K]> } : unknown);
}[keyof M & string];

/** Types that are an acronym and nothing else: their members are all in lower case. */
const acronyms = ['AUC', 'ECE'] as const;

type MemberName<K extends string> = K extends (typeof acronyms)[number] ? Lowercase<K> : Uncapitalize<K>;

/** Name of the member that belongs to a value of `type`: `ConfigMap` → `configMap`, `AUC` → `auc`. */
export function memberName(type: string): string {
  if (acronyms.some((acronym) => acronym === type)) return type.toLowerCase();
  return type.charAt(0).toLowerCase() + type.slice(1);
}

function memberRule(path: string, type: string): Rule {
  const member = memberName(type);
  return rule(
    `self.type == '${type}' ? has(self.${member}) : !has(self.${member})`,
    `${path}.${member} must be set exactly when ${path}.type is ${type}; set the member that the type names and no other`,
  );
}

/**
 * A discriminated union: `type`, and exactly the member that it names.
 * `path` is the field's name in messages. JSON Schema validators see the members only; the API server enforces the pairing.
 */
export function union<M extends Members>(description: string, path: string, members: M, extra: readonly Rule[] = []): TUnsafe<UnionOf<M>> {
  const types = Object.keys(members);
  const withMember = types.filter((type) => members[type] !== null);
  const schema = Type.Object(
    {
      type: choice('Which member is set.', types),
      ...Object.fromEntries(withMember.map((type) => [memberName(type), Type.Optional(members[type]!)])),
    },
    { description, additionalProperties: false, [rulesKey]: [...withMember.map((type) => memberRule(path, type)), ...extra] },
  );
  return Type.Unsafe<UnionOf<M>>(schema);
}
