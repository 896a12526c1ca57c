import { Ajv, type ErrorObject } from 'ajv';
import { Type, type TObject, type TSchema } from 'typebox';
import { InferenceError } from '../base/failure.ts';

/** Nothing is coerced, removed or ignored; NaN and infinities are not numbers. */
const rules = { strict: false, strictNumbers: true } as const;

/** Checks bodies of requests; defaults are filled in. Compiled once. The check throws InferenceError `AF_INVALID`. */
export function compileRequest(schema: TSchema): (body: unknown) => unknown {
  const validate = new Ajv({ ...rules, useDefaults: true }).compile(schema);
  return (body) => {
    if (validate(body)) return body;
    const { field, message } = explain(validate.errors?.[0]);
    throw invalid(field, message);
  };
}

/** Members of answers that the server adds. */
const added: ReadonlySet<string> = new Set(['requestId', 'engine', 'modelDigest', 'shadow']);

/** Compiles a check of the engine's part of an answer, which has no further members: a sentence with the fault, or null. */
export function compileAnswer({ properties }: TObject): (answer: unknown) => string | null {
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => !added.has(name)));
  const validate = new Ajv(rules).compile(withoutMore(Type.Object(own)));
  return (answer) => (validate(answer) ? null : explain(validate.errors?.[0]).message);
}

/** A schema whose objects have no members but those that it names. */
function withoutMore<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map((each: unknown) => withoutMore(each)) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, withoutMore<unknown>(member)]));
  return { ...inner, ...(inner['type'] === 'object' && { additionalProperties: false }) } as T;
}

/** A refusal that names one member by its dotted path; '' = the whole body. */
export function invalid(field: string, message: string): InferenceError {
  return new InferenceError('AF_INVALID', message, { field: field === '' ? null : field });
}

/** @throws InferenceError when two items are the same, or have the same member */
export function refuseTwice<Member extends string>(
  list: string,
  items: readonly (string | Readonly<Record<Member, string>>)[],
  member?: Member,
): void {
  const seen = new Set<string>();
  for (const [at, item] of items.entries()) {
    const value = typeof item === 'string' ? item : item[member as Member];
    const field = [list, at, ...(member === undefined ? [] : [member])].join('.');
    if (seen.has(value)) throw invalid(field, `${field}: ${value} is named twice`);
    seen.add(value);
  }
}

/** Reports whether an answer has the items of the request, in their order. */
export function sameOrder(asked: readonly { readonly id: string }[], reported: readonly { readonly id: string }[]): string | null {
  if (asked.length !== reported.length) return `${reported.length} answers to ${asked.length} items`;
  const at = asked.findIndex(({ id }, index) => reported[index]?.id !== id);
  return at === -1 ? null : `item ${at} is ${asked[at]?.id}, the answer says ${reported[at]?.id}`;
}

interface Explained {
  readonly field: string;
  readonly message: string;
}

function explain(error: ErrorObject | undefined): Explained {
  if (error === undefined) return { field: '', message: 'it does not fit the schema' };
  const at = error.instancePath.slice(1).replaceAll('/', '.');
  const params = error.params as Readonly<Record<string, unknown>>;
  const extra = params['additionalProperty'] ?? params['missingProperty'];
  const field = [at, typeof extra === 'string' ? extra : ''].filter((part) => part !== '').join('.');
  return { field, message: `${field === '' ? 'the body' : field}: ${reason(error, params)}` };
}

function reason(error: ErrorObject, params: Readonly<Record<string, unknown>>): string {
  if (error.keyword === 'additionalProperties') return 'this field is not known';
  if (error.keyword === 'required') return 'this field is required';
  const allowed = Array.isArray(params['allowedValues']) ? `: ${params['allowedValues'].join(', ')}` : '';
  return `${error.message ?? 'it is wrong'}${allowed}`;
}
