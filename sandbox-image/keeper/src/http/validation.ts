import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import {
  AdoptionRequest,
  AstEditRequest,
  ExecCodeRequest,
  FileQuery,
  LinesQuery,
  ListQuery,
  NoteRequest,
  OutputQuery,
  PartsRequest,
  PatchRequest,
  RangeQuery,
  ReplaceRequest,
  SearchQuery,
  SecretsRequest,
  SessionRequest,
  SessionRunRequest,
  ShellRequest,
  SnapshotRequest,
  StdinQuery,
  TerminalSize,
  TreeQuery,
  WaitQuery,
  type ExecRequest,
} from '@agentfleet/protocol/keeper';
import { KeeperError } from '../base/failure.ts';

/** Checks by the schemas of the contract, compiled once per keeper. Nothing is coerced, removed or ignored. */
export type Validators = ReturnType<typeof compileValidators>;

/**
 * The schemas of commands are compiled at once, as the first command must not wait for them; each other one when it is first
 * asked for: a keeper that waits for its task holds none that it does not need.
 */
export function compileValidators() {
  const ajv = new Ajv({ ...ourSchemas, useDefaults: true, verbose: true });
  const execCode = check(ajv.compile<ExecRequest>(ExecCodeRequest));
  const shell = check(ajv.compile<ExecRequest>(ShellRequest));
  return {
    adoption: lazyCheck(() => ajv.compile<AdoptionRequest>(AdoptionRequest)),
    astEdit: lazyCheck(() => ajv.compile<AstEditRequest>(AstEditRequest)),
    exec: (body: unknown): ExecRequest => (toolOf(body) === 'Shell' ? shell(body) : execCode(body)),
    file: lazyCheck(() => ajv.compile<FileQuery>(FileQuery)),
    lines: lazyCheck(() => ajv.compile<LinesQuery>(LinesQuery)),
    list: lazyCheck(() => ajv.compile<ListQuery>(ListQuery)),
    note: lazyCheck(() => ajv.compile<NoteRequest>(NoteRequest)),
    output: lazyCheck(() => ajv.compile<OutputQuery>(OutputQuery)),
    parts: lazyCheck(() => ajv.compile<PartsRequest>(PartsRequest)),
    patch: lazyCheck(() => ajv.compile<PatchRequest>(PatchRequest)),
    range: lazyCheck(() => ajv.compile<RangeQuery & { to: string }>(RangeQuery)),
    replace: lazyCheck(() => ajv.compile<ReplaceRequest>(ReplaceRequest)),
    search: lazyCheck(() => ajv.compile<SearchQuery>(SearchQuery)),
    secrets: lazyCheck(() => ajv.compile<SecretsRequest>(SecretsRequest)),
    session: lazyCheck(() => ajv.compile<SessionRequest>(SessionRequest)),
    sessionRun: lazyCheck(() => ajv.compile<SessionRunRequest>(SessionRunRequest)),
    snapshot: lazyCheck(() => ajv.compile<SnapshotRequest>(SnapshotRequest)),
    stdin: lazyCheck(() => ajv.compile<StdinQuery>(StdinQuery)),
    terminal: lazyCheck(() => ajv.compile<TerminalSize>(TerminalSize)),
    tree: lazyCheck(() => ajv.compile<TreeQuery>(TreeQuery)),
    wait: lazyCheck(() => ajv.compile<WaitQuery>(WaitQuery)),
  };
}

/** Checked here: the message about a wrong `tool` should not list the demands of every variant. */
function toolOf(body: unknown): 'ExecCode' | 'Shell' {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new KeeperError('AF_INVALID', 'the body is not a JSON object');
  const tool: unknown = 'tool' in body ? body.tool : undefined;
  if (tool === 'ExecCode' || tool === 'Shell') return tool;
  throw new KeeperError('AF_INVALID', 'tool: it must be "ExecCode" or "Shell"');
}

/** A check of one schema that is not among {@link Validators}. */
export function compileCheck(schema: object): (value: unknown) => Readonly<Record<string, unknown>> {
  return check(new Ajv({ ...ourSchemas }).compile<Record<string, unknown>>(schema));
}

/** Schemas are validated by tests, not at each start of a keeper. */
const ourSchemas = { strict: false, meta: false, validateSchema: false } as const;

function lazyCheck<T>(compile: () => ValidateFunction<T>): (value: unknown) => T {
  let checked: ((value: unknown) => T) | undefined;
  return (value) => (checked ??= check(compile()))(value);
}

function check<T>(validate: ValidateFunction<T>): (value: unknown) => T {
  return (value) => {
    if (validate(value)) return value;
    throw new KeeperError('AF_INVALID', explain(validate.errors?.[0]));
  };
}

function explain(error: ErrorObject | undefined): string {
  if (error === undefined) return 'the request does not fit the schema';
  const field = error.instancePath.slice(1).replaceAll('/', '.');
  const within = (name: unknown): string => [field, String(name)].filter((part) => part !== '').join('.');
  const params = error.params as Readonly<Record<string, unknown>>;
  if (error.keyword === 'additionalProperties') return `${within(params['additionalProperty'])}: this field is not known`;
  if (error.keyword === 'required') return `${within(params['missingProperty'])}: this field is required`;
  return `${field === '' ? 'the request' : field}: ${error.message ?? 'it is wrong'}`;
}

/** The query `from=SEQ` of streams; 1 when it is absent. @throws KeeperError `AF_INVALID` */
export function sequenceOf(query: unknown): number {
  const { from = '1', ...others } = query as Readonly<Record<string, string | undefined>>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new KeeperError('AF_INVALID', `${unknown}: this field is not known`);
  if (/^\d{1,15}$/.test(from)) return Math.max(Number(from), 1);
  throw new KeeperError('AF_INVALID', 'from: it must be a sequence number');
}
