import { GenerateRequest, GenerateResponse, generatingRoles, type InferenceInfo } from '@agentfleet/protocol/inference';
import { InferenceError } from '../base/failure.ts';
import { capability } from './capability.ts';
import { refuseTwice } from './schema.ts';

/** Candidates for a step. Each engine has a separate example: Replay's is in its record. */
export const generate = capability({
  name: 'Generate',
  request: GenerateRequest,
  response: GenerateResponse,
  checkRequest: (request, info) => {
    checkRole(request, info);
    refuseTwice('files', request.files, 'path');
    checkSpectrum(request);
  },
  checkResult: ({ k, grammar }, { candidates }) => {
    if (candidates.length > k) return `${candidates.length} candidates, ${k} were asked for`;
    if (candidates.some(({ edits, acts = [] }) => edits.length + acts.length === 0)) return 'a candidate does nothing';
    return grammar === 'Edit' && candidates.some(({ acts }) => acts !== undefined) ? 'a candidate acts under grammar Edit' : null;
  },
  envelope: ({ engine }) => ({ engine }),
  onAnswer: ({ candidates }, metrics) => metrics.candidates.inc(candidates.length),
  items: ({ k }) => k,
});

function checkRole({ role }: GenerateRequest, info: InferenceInfo): void {
  const served = generatingRoles.filter((known) => info.roles.includes(known));
  if (served.includes(role)) return;
  throw new InferenceError('AF_ROLE_UNSUPPORTED', `role: this server answers as ${served.join(', ')}, not as ${role}`, { field: 'role' });
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
