import { Ajv } from 'ajv';
import { Type } from 'typebox';
import { Edit, generateBounds, ShellAct, type GenerateRequest, type GenerateResponse } from '@agentfleet/protocol/inference';

const number = Type.Number();

const candidate = Type.Object({
  id: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
  rank: Type.Integer({ minimum: 1 }),
  score: Type.Number({ minimum: 0, maximum: 1 }),
  energy: Type.Optional(number),
  edits: Type.Array(Edit, { maxItems: 64 }),
  acts: Type.Optional(Type.Array(ShellAct, { maxItems: 16 })),
  operator: Type.String({ maxLength: 256 }),
  rationale: Type.String({ maxLength: 4096 }),
  location: Type.Object({ path: Type.String({ maxLength: 1024 }), line: number, column: number }),
});

const response = Type.Object({
  requestId: Type.String(),
  engine: Type.String({ maxLength: 256 }),
  modelDigest: Type.String({ maxLength: 256 }),
  candidates: Type.Array(candidate, { maxItems: generateBounds.maxCandidates }),
  returnedMass: number,
  exhausted: Type.Boolean(),
  truncated: Type.Boolean(),
  entropyNats: number,
  margin: Type.Union([number, Type.Null()]),
  stats: Type.Object({ parsed: number, considered: number, millis: number }),
});

/**
 * Makes the function that reads an answer; it throws an Error that names what is wrong. Which files a candidate edits is
 * for gate 1 to judge: one bad candidate must not end the attempt.
 */
export function answerReader(): (text: string, request: GenerateRequest) => GenerateResponse {
  const validate = new Ajv({ strict: false }).compile(response);
  return (text, request) => {
    const value: unknown = JSON.parse(text);
    if (!validate(value)) {
      const [error] = validate.errors ?? [];
      throw new Error(`${error?.instancePath || '/'} ${error?.message ?? ''}`);
    }
    const answer = value as GenerateResponse;
    if (answer.requestId !== request.requestId) throw new Error(`it answers ${answer.requestId}, not ${request.requestId}`);
    return answer;
  };
}
