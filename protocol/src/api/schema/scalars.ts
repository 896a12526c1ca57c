// protocol, api/schema: scalar and object schemas of custom resources, with bounds. Imports TypeBox alone.
import {
  Type,
  type TBoolean,
  type TInteger,
  type TString,
  type TUnsafe,
  type Static,
  type TArray,
  type TObject,
  type TProperties,
  type TSchema,
} from 'typebox';

/** Limits of a string; `max` counts Unicode characters and is never absent, because CEL's cost depends on it. */
export interface TextOptions {
  readonly max: number;
  readonly min?: number | undefined;
  /** A regular expression that RE2 and ECMAScript read alike: no look-around, no back-references. */
  readonly pattern?: string | undefined;
  readonly default?: string | undefined;
}

/** The members that are set. */
function present<M extends object>(members: M): { [K in keyof M]?: Exclude<M[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

/** A string. */
export function text(description: string, { max, min, pattern, default: value }: TextOptions): TString {
  return Type.String(present({ description, maxLength: max, minLength: min, pattern, default: value }));
}

/** One of a closed set of CamelCase words. */
export function choice<const V extends readonly string[]>(description: string, values: V, fallback?: V[number]): TUnsafe<V[number]> {
  const maxLength = Math.max(...values.map((value) => value.length));
  return Type.Unsafe<V[number]>(present({ type: 'string', description, enum: [...values], maxLength, default: fallback }));
}

/** A whole number between two bounds, both inclusive. */
export function integer(description: string, minimum: number, maximum: number, fallback?: number): TInteger {
  return Type.Integer(present({ description, minimum, maximum, default: fallback }));
}

/** The largest integer that JSON readers agree on, 2^53 − 1. */
export const maxSafeInteger = Number.MAX_SAFE_INTEGER;

/** A count that grows without a bound of its own. */
export function counter(description: string): TInteger {
  return integer(description, 0, maxSafeInteger);
}

/** True or false. */
export function flag(description: string, fallback?: boolean): TBoolean {
  return Type.Boolean(present({ description, default: fallback }));
}

const decimalPattern = '^-?(0|[1-9][0-9]{0,8})(\\.[0-9]{1,9})?$';
const weightPattern = '^(0|[1-9][0-9]{0,5})(\\.[0-9]{1,9})?$';
const probabilityPattern = '^(0(\\.[0-9]{1,9})?|1(\\.0{1,9})?)$';

/** A decimal number as a string: the API has no floats, because encoders disagree about them. */
export function decimal(description: string, fallback?: string): TString {
  return text(description, { max: 20, pattern: decimalPattern, default: fallback });
}

const moneyPattern = '^(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?$';

/** An amount of money in the currency of the pool, as a decimal string. */
export function money(description: string): TString {
  return text(description, { max: 16, min: 1, pattern: moneyPattern });
}

/** A decimal number that weighs something, 0 to 999999, as a string. */
export function weight(description: string, fallback: string): TString {
  return text(description, { max: 16, pattern: weightPattern, default: fallback });
}

/** A decimal number from 0 to 1 as a string. */
export function probability(description: string, fallback?: string): TString {
  return text(description, { max: 11, pattern: probabilityPattern, default: fallback });
}

/** A point in time, RFC 3339. */
export function timestamp(description: string): TString {
  return Type.String({ description, format: 'date-time', maxLength: 40 });
}

/** `sha256:` and 64 hexadecimal digits. */
export function digest(description: string): TString {
  return text(description, { max: 71, pattern: '^sha256:[0-9a-f]{64}$' });
}

/** Name of a snapshot as the keeper gives it. */
export function snapshotId(description: string): TString {
  return text(description, { max: 20, pattern: '^s[0-9]{4,19}$' });
}

const quantityPattern = '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$';

/** A positive amount of bytes such as `2Gi`. `path` is the field's name in messages. */
export function byteQuantity(description: string, path: string): TString {
  return withRules(
    text(description, { max: 20, min: 1, pattern: quantityPattern }),
    rule(
      "isQuantity(self) && quantity(self).compareTo(quantity('1Mi')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0",
      `${path} must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi`,
    ),
  );
}

/** An amount of a resource as pods write it: `2`, `500m` or `2Gi`. */
export function resourceQuantity(description: string): TUnsafe<string | number> {
  return Type.Unsafe<string | number>({
    description,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    maxLength: 20,
    pattern: quantityPattern,
    'x-kubernetes-int-or-string': true,
  });
}

/** Members that an object schema may carry besides its properties. */
export interface StructOptions {
  readonly rules?: readonly Rule[];
  /** Left out, the object is there all the same, with the defaults of its members. */
  readonly filled?: boolean;
  /** The whole object belongs to one manager: no fields inside it are tracked. */
  readonly atomic?: boolean;
}

/** Written out, because the API server checks the default of an object before it fills in those of its members. */
function defaultsOf(properties: TProperties): Readonly<Record<string, unknown>> {
  const entries = Object.entries(properties as Record<string, { readonly default?: unknown }>);
  return present(Object.fromEntries(entries.map(([name, { default: value }]) => [name, value])));
}

/** An object with exactly these members. */
export function struct<P extends TProperties>(description: string, properties: P, options: StructOptions = {}): TObject<P> {
  return Type.Object(properties, {
    description,
    additionalProperties: false,
    ...(options.filled === true ? { default: defaultsOf(properties) } : {}),
    ...(options.atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(options.rules === undefined ? {} : { [rulesKey]: options.rules }),
  });
}

/** Bounds of a list; `max` is never absent, because CEL's cost depends on it. */
export interface ListOptions {
  readonly max: number;
  readonly min?: number;
  readonly rules?: readonly Rule[];
  readonly default?: readonly string[];
}

function list<T extends TSchema>(description: string, items: T, options: ListOptions, kind: Readonly<Record<string, unknown>>): TArray<T> {
  const { max, min, default: fallback, rules } = options;
  return Type.Array(items, present({ description, maxItems: max, minItems: min, default: fallback, ...kind, [rulesKey]: rules }));
}

/** A list that is replaced as a whole. */
export function atomicList<T extends TSchema>(description: string, items: T, options: ListOptions): TArray<T> {
  return list(description, items, options, { 'x-kubernetes-list-type': 'atomic' });
}

/** A list without duplicates whose order means nothing. */
export function setOf<T extends TString | TUnsafe<string>>(description: string, items: T, options: ListOptions): TArray<T> {
  return list(description, items, options, { 'x-kubernetes-list-type': 'set' });
}

/** A list of objects that differ in `key`; the API server refuses two with the same. */
export function listByKey<P extends TProperties>(
  description: string,
  key: string & keyof P,
  items: TObject<P>,
  options: ListOptions,
): TArray<TObject<P>> {
  return list(description, items, options, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
}

/** A map from string to string, where Kubernetes itself has one (labels, annotations, selectors). */
export function mapOf<V extends TSchema>(
  description: string,
  values: V,
  options: { readonly max: number; readonly rules?: readonly Rule[] },
): TUnsafe<Record<string, Static<V>>> {
  const { max, rules } = options;
  return Type.Unsafe(present({ type: 'object', description, additionalProperties: values, maxProperties: max, [rulesKey]: rules }));
}

const label = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';

/** A name inside an object: an RFC 1123 label. */
export function labelName(description: string, fallback?: string): TString {
  return text(description, { max: 63, min: 1, pattern: `^${label}$`, default: fallback });
}

/** The name of another object: an RFC 1123 subdomain. */
export function objectName(description: string): TString {
  return text(description, { max: 253, min: 1, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$' });
}

/** A reference to an object of the same namespace. */
export function reference(description: string): TObject<{ name: TString }> {
  return struct(description, { name: objectName('Name of the object.') });
}

/** A host name without scheme, port or wildcard. */
export function hostName(description: string): TString {
  return text(description, { max: 253, min: 1, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' });
}

/** A host name and a port. */
export const HostPort = struct('A host, by its exact name, and a port.', {
  host: hostName('Host name; no wildcards.'),
  port: integer('TCP port.', 1, 65_535, 443),
});

/** Returns the CEL test of whether a string expression is a path that stays below the folder it starts in. */
export function isRelativePath(expression: string): string {
  return `${expression}.split('/').all(part, part != '' && part != '.' && part != '..')`;
}

/** A path below a folder, with `/` between the names. `path` is the field's name in messages. */
export function relativePath(description: string, path: string): TString {
  return withRules(
    text(description, { max: 512, min: 1, pattern: '^[^\\x00-\\x1f\\x7f\\\\]*$' }),
    rule(isRelativePath('self'), `${path} must be relative without empty, '.' or '..' parts; write it like src/lib`),
  );
}

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
      type: choice('Name of the member that is set.', types),
      ...Object.fromEntries(withMember.map((type) => [memberName(type), Type.Optional(members[type]!)])),
    },
    { description, additionalProperties: false, [rulesKey]: [...withMember.map((type) => memberRule(path, type)), ...extra] },
  );
  return Type.Unsafe<UnionOf<M>>(schema);
}

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
