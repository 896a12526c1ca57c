import { createContext, Script } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { ArtifactCheck } from '@agentfleet/protocol/api';

/** Error of a schema that cannot judge anything: its author has to correct it. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

/** Processor time for one schema, ms: its author can write one that never ends. */
const schemaMs = 1000;
/** Longest run of a schema that gets little of a processor, ms; it holds up the worker. */
const longestMs = 4 * schemaMs;
/** Largest file that a schema judges. */
const maxJudgedBytes = 4 * 1024 * 1024;
const maxShownErrors = 3;

type Bounds = Pick<ArtifactCheck, 'path' | 'minBytes' | 'contains' | 'jsonSchema'>;

/**
 * Returns the faults of a file that a check demands, one sentence each; empty: none.
 *
 * @param bytes null where there is no regular file
 * @throws SchemaError
 */
export function artifactFaults({ path, minBytes, contains = [], jsonSchema }: Bounds, bytes: Buffer | null): readonly string[] {
  const judge = jsonSchema === undefined ? null : compile(jsonSchema);
  if (bytes === null) return [`${path} is not there, or is no regular file`];
  const faults: string[] = [];
  if (minBytes !== undefined && bytes.length < minBytes)
    faults.push(`${path} has ${bytes.length} bytes, and at least ${minBytes} are asked for`);
  for (const text of contains) if (!bytes.includes(text)) faults.push(`${path} does not contain ${JSON.stringify(text)}`);
  if (judge !== null) faults.push(...schemaFaults(path, judge, bytes));
  return faults;
}

function schemaFaults(path: string, judge: ValidateFunction, bytes: Buffer): readonly string[] {
  if (bytes.length > maxJudgedBytes) return [`${path} has ${bytes.length} bytes, and a JSON schema judges at most ${maxJudgedBytes}`];
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    return [`${path} is no JSON: ${error instanceof Error ? error.message : String(error)}`];
  }
  if (within<unknown>(() => judge(value)) === true) return [];
  return (judge.errors ?? []).slice(0, maxShownErrors).map((error) => `${path}: ${describe(error)}`);
}

function describe({ instancePath, message = 'is not as the schema asks for', params }: ErrorObject): string {
  return `${instancePath === '' ? 'the document' : instancePath} ${message} (${JSON.stringify(params)})`.slice(0, 300);
}

function compile(text: string): ValidateFunction {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw new SchemaError(`it is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new SchemaError('it is no JSON object');
  const { $schema: _, ...rules } = schema as Readonly<Record<string, unknown>>;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false, logger: false });
  let judge: ValidateFunction;
  try {
    judge = within(() => ajv.compile(rules));
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    throw new SchemaError(error instanceof Error ? error.message : String(error));
  }
  // Ajv refuses `$async` below this place. At the top the answer would be a promise, which is true, and may reject.
  if ('$async' in judge) throw new SchemaError('it is asynchronous; leave out $async');
  return judge;
}

/** Returns the result of a computation without effects, unless it takes too much processor time. @throws SchemaError then */
export function within<T>(compute: () => T): T {
  const place = createContext({ compute });
  for (let timeout = schemaMs; ; timeout *= 2) {
    const before = process.threadCpuUsage();
    try {
      return new Script('compute()').runInContext(place, { timeout }) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      const { user, system } = process.threadCpuUsage(before);
      // Cut off by the clock of the wall, which is a little ahead of the thread's also on an idle machine.
      if ((user + system) / 1000 >= 0.9 * schemaMs || timeout >= longestMs)
        throw new SchemaError(`it takes more than ${schemaMs} ms to compute; make it simpler`);
    }
  }
}
