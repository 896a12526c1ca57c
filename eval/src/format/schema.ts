/** JSON Schema of `pack.json` and of a task file. Unknown members are refused. */
import { halves, kinds, languages } from './types.ts';

const name = { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$' };
const path = { pattern: '^(?!/)(?!.*(^|/)\\.\\.?(/|$))[^\\0]{1,200}$' };
const words = { type: 'string', minLength: 1, maxLength: 8192, pattern: '\\S' };
const range = { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 2, maxItems: 2 };
const tree = { type: 'object', propertyNames: path, additionalProperties: { type: 'string', maxLength: 262_144 } };
const tags = { type: 'array', items: name, maxItems: 16, uniqueItems: true };
const language = { enum: languages };

function struct(required: readonly string[], properties: object): object {
  return { type: 'object', additionalProperties: false, required, properties };
}

const check = struct(['files'], {
  files: tree,
  command: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 64 },
  timeoutSeconds: { type: 'integer', minimum: 1, maximum: 600 },
  start: { enum: ['fails', 'passes'] },
});

const edits = {
  type: 'array',
  minItems: 1,
  maxItems: 16,
  items: struct(['find', 'put'], { in: { type: 'string' }, find: words, put: { type: 'string' } }),
};

const change = {
  edits,
  files: { type: 'object', propertyNames: path, additionalProperties: { type: ['string', 'null'], maxLength: 262_144 } },
  script: words,
};
const oracle = { ...struct([], change), minProperties: 1 };
const decoy = { ...struct(['why'], { why: words, ...change }), minProperties: 2 };

const task = {
  ...struct(['id', 'goal'], {
    id: name,
    goal: { ...words, maxLength: 4096 },
    files: tree,
    break: edits,
    oracle,
    kind: { enum: kinds },
    after: name,
    setup: words,
    decoys: { type: 'array', items: decoy, minItems: 1, maxItems: 8 },
    facts: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
    seed: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
    tags,
    visible: check,
    hidden: check,
  }),
  oneOf: [{ required: ['break'] }, { required: ['oracle'] }],
};

const packages = {
  type: 'array',
  minItems: 1,
  maxItems: 4,
  items: struct(['registry', 'name', 'version', 'sha256', 'keep'], {
    registry: { enum: ['npm', 'PyPI'] },
    name: { type: 'string', pattern: '^(@[a-z0-9._-]+/)?[A-Za-z0-9][A-Za-z0-9._-]*$' },
    version: { type: 'string', pattern: '^\\d[A-Za-z0-9.+-]*$' },
    sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    keep: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 32 },
    into: { type: 'string', ...path },
  }),
};

/** `tasks/<family>.yaml`. */
export const taskFileSchema = struct(['language', 'files', 'tasks'], {
  language: { oneOf: [language, { type: 'array', items: language, minItems: 1, uniqueItems: true }] },
  tags,
  needs: { type: 'array', items: name, maxItems: 16, uniqueItems: true },
  files: tree,
  packages,
  setup: words,
  visible: check,
  hidden: check,
  tasks: { type: 'array', items: task, minItems: 1, maxItems: 200 },
});

const families = { type: 'array', items: name, uniqueItems: true };

/** `pack.json`. */
export const manifestSchema = struct(['name', 'version', 'licence', 'author', 'halves'], {
  name,
  version: { type: 'string', pattern: '^\\d+\\.\\d+\\.\\d+$' },
  licence: words,
  author: words,
  halves: struct(halves, Object.fromEntries(halves.map((half) => [half, families]))),
  repos: {
    type: 'object',
    additionalProperties: struct(['language', 'half', 'command'], {
      language,
      half: { enum: halves },
      command: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 64 },
      needs: { type: 'array', items: name, maxItems: 16, uniqueItems: true },
    }),
  },
  bounds: struct([], { visibleTests: range, visibleFailing: range, hiddenTests: range }),
});

const tests = {
  oneOf: [
    { type: 'string', pattern: '^\\[' },
    { type: 'array', items: { type: 'string', minLength: 1 } },
  ],
};
const text = { type: 'string' };

/** A line of `instances.jsonl`. */
export const instanceSchema = struct(
  ['instance_id', 'repo', 'base_commit', 'problem_statement', 'patch', 'test_patch', 'FAIL_TO_PASS', 'PASS_TO_PASS', 'version'],
  {
    instance_id: { type: 'string', pattern: '^[a-z0-9]([a-z0-9_-]{0,46}[a-z0-9])?$' },
    repo: { type: 'string', pattern: '^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$' },
    base_commit: { type: 'string', pattern: '^[0-9a-f]{7,40}$' },
    problem_statement: { ...words, maxLength: 4096 },
    hints_text: text,
    patch: words,
    test_patch: { ...words, maxLength: 262_144 },
    visible_patch: { ...words, maxLength: 262_144 },
    FAIL_TO_PASS: tests,
    PASS_TO_PASS: tests,
    version: text,
    created_at: text,
    environment_setup_commit: text,
  },
);
