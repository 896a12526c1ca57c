import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { ToolDefinition } from '@agentfleet/protocol/chat';
import { plain } from './text.ts';
import { ArgumentError } from './tool.ts';

/** Arguments that fit the schema of their tool. */
export type Arguments = Readonly<Record<string, unknown>>;

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

/** Most faults that one message names. */
const maxFaults = 5;

/**
 * Makes the function that reads the arguments of a tool as a model wrote them. Numbers in quotes are taken as numbers, and
 * `null` as absent. It throws an ArgumentError that names each field, what came, and what is expected.
 */
export function argumentReader(definition: ToolDefinition): (text: string) => Arguments {
  const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: true, verbose: true });
  const validate = ajv.compile<Arguments>(definition.parameters);
  return (text) => {
    const given = withoutNulls(parsed(text, definition));
    if (validate(given)) return given;
    throw new ArgumentError(faults(definition, given, validate));
  };
}

/** Makes the function that reads any object. */
export function objectReader(definition: ToolDefinition): (text: string) => Arguments {
  return (text) => parsed(text, definition);
}

function parsed(text: string, { name, parameters }: ToolDefinition): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text);
  } catch (error) {
    throw new ArgumentError(`the arguments of ${name} are not JSON: ${syntaxFault(text, error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const fields = Object.keys((parameters as Schema).properties ?? {}).join(', ') || 'any name';
  throw new ArgumentError(`the arguments of ${name} are ${shown(value)}; send one JSON object with fields of: ${fields}`);
}

function syntaxFault(text: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/end of JSON input|Unterminated/.test(message))
    return `they end in the middle, after ${text.length} characters; send less in one call, for example a smaller edit`;
  return `${plain(message)}; send one JSON object, with quotes and line feeds inside of strings escaped`;
}

/** Some models send every field, absent ones as null. */
function withoutNulls(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
}

function faults({ name, parameters }: ToolDefinition, given: Arguments, { errors }: ValidateFunction): string {
  const found = (errors ?? []).map((error) => fault(error, parameters as Schema, name));
  const unique = [...new Set(found)];
  const more = unique.length > maxFaults ? ` (and ${unique.length - maxFaults} more)` : '';
  const known = Object.keys(given).length === 0 ? `${name} got no arguments: ` : '';
  return `${known}${unique.slice(0, maxFaults).join('; ')}${more}`;
}

function fault(error: ErrorObject, root: Schema, tool: string): string {
  const { keyword, params, data, parentSchema } = error;
  const at = placeOf(error.instancePath);
  const inside = (field: string): string => (at === '' ? field : `${at}.${field}`);
  if (keyword === 'required') {
    const field = String((params as { missingProperty: unknown }).missingProperty);
    return `${inside(field)}: missing; ${expected((parentSchema as Schema).properties?.[field] ?? {})}`;
  }
  if (keyword === 'additionalProperties') {
    const field = String((params as { additionalProperty: unknown }).additionalProperty);
    const known = Object.keys((parentSchema as Schema).properties ?? root.properties ?? {}).join(', ');
    return `${inside(plain(field).slice(0, 64))}: unknown; ${at === '' ? tool : at} takes: ${known || 'no arguments'}`;
  }
  return `${at === '' ? 'the arguments' : at}: ${shown(data)} came; ${expected(parentSchema as Schema)}`;
}

/** `/items/0/state` → `items[0].state`. */
function placeOf(pointer: string): string {
  const [first = '', ...rest] = pointer.split('/').slice(1);
  return rest.reduce((place, part) => (/^\d+$/.test(part) ? `${place}[${part}]` : `${place}.${part}`), first);
}

/** What fits a schema, in words. */
function expected(schema: Schema): string {
  if (schema.enum !== undefined) return `one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')} is expected`;
  const { type = 'value', minimum, maximum, minLength = 0, maxLength, maxItems, pattern } = schema;
  const kind = /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
  const bounds = [
    minimum !== undefined && maximum !== undefined ? ` from ${minimum} to ${maximum}` : '',
    type === 'string' && minLength > 0 ? ' that is not empty' : '',
    type === 'string' && maxLength !== undefined ? `, at most ${maxLength} characters` : '',
    maxItems === undefined ? '' : `, at most ${maxItems} items`,
    pattern === undefined ? '' : ` that matches ${pattern}`,
  ].join('');
  return `${kind}${bounds} is expected`;
}

function shown(value: unknown): string {
  const json = plain(JSON.stringify(value) ?? 'nothing');
  return json.length <= 80 ? json : `${json.slice(0, 79)}… (${json.length} characters)`;
}
