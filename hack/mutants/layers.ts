import type { Mutant } from './mutants.ts';

const overlay = 'sandbox-image/runner/internal/overlay';
const snapshot = 'sandbox-image/keeper/src/snapshot';
const tasks = 'operator/src/controllers/agenttask';
const go = (run: string): Mutant['test'] => ({ kind: 'go', packages: './internal/overlay', run });
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });

/** Of sandboxes whose roots are layers. */
export const layers: readonly Mutant[] = [
  {
    guarantee: 'a root of layers that a command closed is open again at the next switch',
    file: `${snapshot}/overlay/layers.ts`,
    find: '(fs.statSync(model).mode & 0o7777) | 0o700',
    replace: 'fs.statSync(model).mode & 0o7777',
    test: vitest(`${snapshot}/overlay/layers.test.ts`),
  },
  {
    guarantee: 'a frozen layer cannot be written to through what was kept open',
    file: `${overlay}/mount.go`,
    find: 'Attr_set: unix.MOUNT_ATTR_RDONLY',
    replace: 'Attr_set: unix.MOUNT_ATTR_NOSUID',
    test: go('TestAFrozenLayer'),
  },
  {
    guarantee: 'the keeper that the mounter starts has no capability',
    file: `${overlay}/main.go`,
    find: '			err = proc.DropThreadCapabilities()\n',
    replace: '',
    test: go('TestWhatIsStarted'),
  },
  {
    guarantee: 'mounts are handed to none but the holder of the link key',
    file: `${overlay}/wire.go`,
    find: 'if len(hello.Nonce) != len(nonce) || !hmac.Equal(',
    replace: 'if len(hello.Nonce) != len(nonce) && !hmac.Equal(',
    test: go('TestMountsAreHanded'),
  },
  {
    guarantee: 'a flat layer takes each file from the topmost layer that has it',
    file: `${overlay}/flatten.go`,
    find: '	for _, layer := range r.Lower {\n		var st',
    replace: '	for i := range r.Lower {\n		layer := r.Lower[len(r.Lower)-1-i]\n		var st',
    test: go('TestAFlatLayer'),
  },
  {
    guarantee: 'below a name that one layer has as a file anything is looked at',
    file: `${snapshot}/overlay/names.ts`,
    find: 'known === null || below === null ? null :',
    replace: 'known === null ? below : below === null ? known :',
    test: vitest(`${snapshot}/overlay`),
  },
  {
    guarantee: 'what layers say nothing of is not looked at',
    file: `${snapshot}/scan/scanner.ts`,
    find: 'return reader.isSettled(node) ? NOTHING : null;',
    replace: 'return null;',
    test: vitest(`${snapshot}/scan/changes.test.ts`),
  },
  {
    guarantee: 'a layer that a killed keeper has made ahead is not used again',
    file: `${snapshot}/overlay/layers.ts`,
    find: 'Math.max(this.#ledger.state.next, ...there.map((layer) => layer + 1))',
    replace: 'this.#ledger.state.next',
    test: vitest(`${snapshot}/overlay/layers.test.ts`),
  },
  {
    guarantee: 'the layer that comes next is removed by nobody',
    file: `${snapshot}/overlay/layers.ts`,
    find: 'if (this.#ahead !== null) for (const set of [used, works]) set.add(this.#ahead.layer);',
    replace: '',
    test: vitest(`${snapshot}/overlay/layers.test.ts`),
  },
  {
    guarantee: 'a ledger that is no ledger is not believed',
    file: `${snapshot}/overlay/ledger.ts`,
    find: "state.format === 1 && Array.isArray(state.lower) && typeof state.upper === 'number' && typeof state.next === 'number'",
    replace: 'state.format !== 2',
    test: vitest(`${snapshot}/overlay`),
  },
  {
    guarantee: 'a command with capabilities keeps the sandbox from being ready',
    file: 'sandbox-image/keeper/src/isolation.ts',
    find: "  if (!info.probe.powerless) return 'a command has capabilities of its container';\n",
    replace: '',
    test: vitest('sandbox-image/keeper/src/isolation.test.ts'),
  },
  {
    guarantee: 'layers are refused where Pod Security would refuse their pods',
    file: `${tasks}/groundRefusal.ts`,
    find: "if (level === undefined || level === 'privileged') return undefined;",
    replace: "if (level !== 'restricted') return undefined;",
    test: vitest(`${tasks}/sandboxLayers.test.ts`),
  },
  {
    guarantee: 'the layers are mounted in the keeper alone',
    file: `${tasks}/sandboxLayers.ts`,
    find: '{ env: [...(container.env ?? []), mounts], ...capabilities',
    replace: "{ volumeMounts: [...(container.volumeMounts ?? []), { name: 'layers', mountPath: '/mnt' }], ...capabilities",
    test: vitest(`${tasks}/sandboxLayers.test.ts`),
  },
];
