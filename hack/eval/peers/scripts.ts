// Six tasks of the packs (dev halves) and the steps that solve each, written by hand.

/** One reply of a model. */
export type ScriptStep = { readonly says: string } & (
  | { readonly kind: 'look' | 'command' | 'check'; readonly command: string }
  | { readonly kind: 'read'; readonly path: string }
  /** `before` occurs once in the file. */
  | { readonly kind: 'edit'; readonly path: string; readonly before: string; readonly after: string }
  | { readonly kind: 'submit' }
);

export interface TaskScript {
  /** Id of the task in its pack. */
  readonly task: string;
  readonly steps: readonly ScriptStep[];
}

interface Work {
  readonly task: string;
  /** Command of the visible check. */
  readonly check: string;
  readonly reads: readonly string[];
  readonly work: readonly ScriptStep[];
}

const edit = (path: string, before: string, after: string): ScriptStep => ({
  says: `I change ${path}.`,
  kind: 'edit',
  path,
  before,
  after,
});

/** Look, read, see the checks fail, work, see them pass, hand in. */
function scriptOf({ task, check, reads, work }: Work): TaskScript {
  const run = (says: string): ScriptStep => ({ says, kind: 'check', command: check });
  return {
    task,
    steps: [
      { says: 'I look at what is there.', kind: 'look', command: 'ls -la' },
      ...reads.map((path): ScriptStep => ({ says: `I read ${path}.`, kind: 'read', path })),
      run('I see how the checks fail.'),
      ...work,
      run('I run the checks again.'),
      { says: 'The checks pass.', kind: 'submit' },
    ],
  };
}

const works: readonly Work[] = [
  {
    task: 'code-small/py-text/initials',
    check: 'python3 -m unittest -v test_initials.py',
    reads: ['initials.py', 'test_initials.py'],
    work: [
      edit(
        'initials.py',
        '    raise NotImplementedError\n',
        `    parts = (part.split("-") for part in name.split())\n    return "".join("-".join(half[0].upper() for half in halves if half) for halves in parts)\n`,
      ),
    ],
  },
  {
    task: 'code-small/js-lists/batches',
    check: 'node --test batches.test.js',
    reads: ['batches.js', 'batches.test.js'],
    work: [
      edit(
        'batches.js',
        "  throw new Error('not written yet');\n",
        [
          "  if (!(limit > 0)) throw new RangeError('the limit must be above 0');",
          '  const batches = [];',
          '  for (const { name, size } of items) {',
          '    const last = batches.at(-1);',
          '    if (last !== undefined && last.size + size <= limit) {',
          '      last.names.push(name);',
          '      last.size += size;',
          '    } else batches.push({ names: [name], size });',
          '  }',
          '  return batches;',
          '',
        ].join('\n'),
      ),
    ],
  },
  {
    task: 'mini-swe/fernwork__inkwell-31',
    check: 'python3 -m unittest -v',
    reads: ['inkwell/inline.py', 'tests/test_issue_31.py'],
    work: [edit('inkwell/inline.py', String.raw`STRONG = re.compile(r"\*(.+)\*")`, String.raw`STRONG = re.compile(r"\*(.+?)\*")`)],
  },
  {
    task: 'trap/py-shipping/swapped-steps',
    check: 'python3 -m unittest -v test_shipping.py',
    reads: ['shipping.py', 'rates.json', 'test_shipping.py'],
    work: [edit('rates.json', '[10000, 1690], [2000, 990]', '[2000, 990], [10000, 1690]')],
  },
  {
    task: 'contracts/py-lines/no-value',
    check: 'python3 -m unittest -v test_sides.py',
    reads: ['README.md', 'writer.py', 'reader.py', 'test_sides.py'],
    work: [
      edit('writer.py', 'f"{name}={value}" for name, value', 'name if value is None else f"{name}={value}" for name, value'),
      edit(
        'reader.py',
        'return {name: value for name, value in pairs}',
        'return {pair[0]: pair[1] if len(pair) == 2 else None for pair in pairs}',
      ),
    ],
  },
  {
    task: 'os/tx-lines/bom',
    check: 'sh check.sh',
    reads: ['check.sh'],
    work: [
      { says: 'I look for the mark.', kind: 'look', command: 'head -c 3 web/* | od -c' },
      { says: 'I remove it.', kind: 'command', command: String.raw`sed -i '1s/^\xef\xbb\xbf//' web/*` },
    ],
  },
];

/** By the id of the task. */
export const scripts: ReadonlyMap<string, TaskScript> = new Map(works.map((work) => [work.task, scriptOf(work)]));
