import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { load } from 'js-yaml';
import { EvalError } from '../failure.ts';
import type { Scenario } from './types.ts';

const text = { type: 'string', minLength: 1 };
const struct = (required: readonly string[], properties: object): object => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});
const proposal = {
  ...struct([], {
    commands: { type: 'array', items: text, minItems: 1 },
    solution: { const: true },
    decoy: { type: 'integer', minimum: 0 },
  }),
  minProperties: 1,
};
const decisions = { enum: ['Approved', 'Rejected'] };
const expected = struct(['tried', 'outcome', 'hidden'], {
  tried: { type: 'array', items: struct(['result'], { result: { enum: ['Reached', 'Better', 'Worse', 'Denied'] }, why: text }) },
  outcome: text,
  hidden: { enum: ['Passed', 'Failed', 'NotJudged'] },
  decided: { type: 'array', items: decisions },
  rolledBack: { const: true },
  left: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
});
const scenario = struct(['name', 'says', 'task', 'proposals', 'expect'], {
  name: text,
  says: text,
  task: text,
  proposals: { type: 'array', items: proposal },
  approvals: struct(['require', 'says'], {
    require: { type: 'array', items: { enum: ['Destructive', 'External'] }, minItems: 1 },
    says: decisions,
  }),
  rollback: { const: 'Initial' },
  expect: expected,
});
const validate = new Ajv({ allowUnionTypes: true }).compile<readonly Scenario[]>({ type: 'array', items: scenario, minItems: 1 });

/** Scenarios of a file. @throws EvalError that names what is wrong */
export async function loadScenarios(file: string): Promise<readonly Scenario[]> {
  const read = load(await readFile(file, 'utf8'));
  if (validate(read)) return read;
  const [error] = validate.errors ?? [];
  throw new EvalError(`${file}: ${error?.instancePath ?? ''} ${error?.message ?? 'is no list of scenarios'}; correct it`);
}
