import { Ajv, type ErrorObject } from 'ajv';
import { GenerateRequest, type GeneratingRole } from '@agentfleet/protocol/inference';
import { InferenceError } from '../failure.ts';

/** Compiled once. Nothing is coerced, removed or ignored; defaults are filled in. */
export function compileGenerate(roles: readonly GeneratingRole[]): (body: unknown) => GenerateRequest {
  const ajv = new Ajv({ strict: false, useDefaults: true });
  const validate = ajv.compile<GenerateRequest>(GenerateRequest);
  return (body) => {
    if (!validate(body)) throw explain(validate.errors?.[0]);
    checkRole(body, roles);
    checkFiles(body);
    checkSpectrum(body);
    return body;
  };
}

function explain(error: ErrorObject | undefined): InferenceError {
  if (error === undefined) return new InferenceError('AF_INVALID', 'the request does not fit the schema');
  const at = error.instancePath.slice(1).replaceAll('/', '.');
  const params = error.params as Readonly<Record<string, unknown>>;
  const extra = params['additionalProperty'] ?? params['missingProperty'];
  const field = [at, typeof extra === 'string' ? extra : ''].filter((part) => part !== '').join('.');
  const told = field === '' ? 'the body' : field;
  if (error.keyword === 'additionalProperties') return invalid(field, `${told}: this field is not known`);
  if (error.keyword === 'required') return invalid(field, `${told}: this field is required`);
  const allowed = Array.isArray(params['allowedValues']) ? `: ${params['allowedValues'].join(', ')}` : '';
  return invalid(field, `${told}: ${error.message ?? 'it is wrong'}${allowed}`);
}

function invalid(field: string, message: string): InferenceError {
  return new InferenceError('AF_INVALID', message, { field: field === '' ? null : field });
}

function checkRole({ role }: GenerateRequest, roles: readonly GeneratingRole[]): void {
  if (roles.includes(role)) return;
  throw new InferenceError('AF_ROLE_UNSUPPORTED', `role: this server answers as ${roles.join(', ')}, not as ${role}`, { field: 'role' });
}

function checkFiles({ files }: GenerateRequest): void {
  const seen = new Set<string>();
  for (const [at, { path }] of files.entries()) {
    if (seen.has(path)) throw invalid(`files.${at}.path`, `files.${at}.path: ${path} is named twice`);
    seen.add(path);
  }
}

/** Counts that cannot be true would mislead the ranking silently. */
function checkSpectrum({ files, localisation: { spectrum } }: GenerateRequest): void {
  const lengths = new Map(files.map(({ path, content }) => [path, content.split('\n').length]));
  const refuse = (at: number, member: string, why: string): never => {
    const field = `localisation.spectrum.lines.${at}.${member}`;
    throw new InferenceError('AF_SPECTRUM_MISMATCH', `${field}: ${why}`, { field });
  };
  for (const [at, { path, line, passed, failed }] of spectrum.lines.entries()) {
    if (passed > spectrum.passed) refuse(at, 'passed', `${passed} of ${spectrum.passed} passing tests`);
    if (failed > spectrum.failed) refuse(at, 'failed', `${failed} of ${spectrum.failed} failing tests`);
    if (line > (lengths.get(path) ?? Infinity)) refuse(at, 'line', `${path} has ${lengths.get(path)} lines, not ${line}`);
  }
}
