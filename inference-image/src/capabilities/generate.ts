import { Type } from 'typebox';
import { Edit, GenerateRequest, generateBounds, generatingRoles, ShellAct, type InferenceInfo } from '@agentfleet/protocol/inference';
import { InferenceError } from '../base/failure.ts';
import { capability } from './capability.ts';
import { refuseTwice } from './schema.ts';

const exactly = { additionalProperties: false } as const;
const count = Type.Integer({ minimum: 0 });
/** Sums of shares may miss 1 by rounding. */
const mass = Type.Number({ minimum: 0, maximum: 1 + 1e-6 });

const Candidate = Type.Object(
  {
    id: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
    rank: Type.Integer({ minimum: 1 }),
    score: mass,
    energy: Type.Optional(Type.Number()),
    edits: Type.Array(Edit),
    acts: Type.Optional(Type.Array(ShellAct, { minItems: 1 })),
    operator: Type.String({ minLength: 1 }),
    rationale: Type.String(),
    location: Type.Object({ path: Type.String(), line: Type.Integer({ minimum: 1 }), column: count }, exactly),
  },
  exactly,
);

const Generated = Type.Object(
  {
    candidates: Type.Array(Candidate, { maxItems: generateBounds.maxCandidates }),
    returnedMass: mass,
    exhausted: Type.Boolean(),
    truncated: Type.Boolean(),
    entropyNats: Type.Number({ minimum: 0 }),
    margin: Type.Union([Type.Number({ minimum: -1e-9 }), Type.Null()]),
    stats: Type.Object({ parsed: count, considered: count, millis: Type.Number({ minimum: 0 }) }, exactly),
  },
  exactly,
);

/** Candidates for a step. Each engine has a separate example: Replay's is in its record. */
export const generate = capability({
  name: 'Generate',
  request: GenerateRequest,
  result: Generated,
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
