import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentTask } from '@agentfleet/protocol/api';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hindranceOf } from '../attempt/acts.ts';
import { createGate, type Gate } from '../attempt/gate.ts';
import { createRails, installedGrammars, loadGrammars, type Rails } from '../rails/index.ts';
import { EffectJournal, EffectReader, takeBack, type EffectPlan, type Probe } from './index.ts';
import type { Way } from './types.ts';
import { planEffects } from './journal.ts';
import { quote } from '../base/text.ts';
import { Log, probeIn, shellIn } from './testing/shell.ts';

const identity = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@x',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@x',
  GIT_CONFIG_GLOBAL: '/dev/null',
};

let rails: Rails;
beforeAll(async () => {
  rails = createRails({ grammars: await loadGrammars(installedGrammars()), home: '/home/agent' });
});

/** Rules by which a person is asked about external effects. */
const asking = { profile: 'Permissive', approvals: { require: ['External'] } };

const gateOf = (policy: object): Gate => {
  const task = { spec: { policy: { profile: 'Permissive', network: { mode: 'Allowed' }, ...policy }, protect: { mode: 'Default' } } };
  return createGate(
    { rails, task: task as unknown as AgentTask, session: { roots: ['/workspace'], absolute: (path) => `/workspace/${path}` } },
    null,
  );
};

/** A bare repository, and a clone that acts run in. */
class Bed {
  readonly log = new Log();
  readonly folder: string;
  readonly probe: Probe;
  readonly #remote: Probe;

  constructor(folder: string) {
    this.folder = folder;
    this.probe = probeIn(join(folder, 'clone'), identity);
    this.#remote = probeIn(join(folder, 'remote.git'), identity);
  }

  static async open(): Promise<Bed> {
    const folder = await mkdtemp(join(tmpdir(), 'effects-'));
    const at = shellIn(probeIn(folder, identity));
    const made = await at('git init -q --bare -b main remote.git && git clone -q "file://$PWD/remote.git" clone');
    expect(made.exitCode).toBe(0);
    const bed = new Bed(folder);
    await bed.shell('git checkout -q -B main; echo one > f; git add f; git commit -qm one; git push -q origin main');
    return bed;
  }

  async shell(command: string): Promise<string> {
    const { exitCode, stdout } = await shellIn(this.probe)(command);
    expect([command, exitCode]).toEqual([command, 0]);
    return stdout.trim();
  }

  /** Content of the remote, one line for each ref. */
  async remote(): Promise<string> {
    return (await this.#remote(['git', 'for-each-ref', '--format=%(refname) %(objectname)'])).stdout.trim();
  }

  /** Runs an act as an attempt does, with its effects in the log. */
  async act(command: string, { approved = true, policy = {} } = {}): Promise<boolean> {
    const { probe, log } = this;
    const journal = new EffectJournal({ attempt: 1, note: log.note, probe, newId: log.newId });
    const { ok } = await journal.around({ command, approved, ...gateOf(policy).outward({ command }) }, async () => {
      log.records.push({ seq: 0, type: 'Run', body: { kind: `run: ${command}` } } as never);
      return { ok: (await shellIn(probe)(command)).exitCode === 0 };
    });
    return ok;
  }

  async rollBack(policy: object = {}): Promise<readonly string[]> {
    const reader = new EffectReader();
    for (const record of this.log.records) reader.visit(record);
    const gate = gateOf(policy);
    const hindrance = (command: string, approved: boolean): string | null => hindranceOf(gate, command, approved);
    return takeBack(reader.standing, { attempt: 2, shell: shellIn(this.probe), note: this.log.note, hindrance });
  }
}

let bed: Bed;
beforeEach(async () => {
  bed = await Bed.open();
});
afterEach(() => rm(bed.folder, { recursive: true, force: true }));

describe('a push', () => {
  test('has its intent in the log before it, its end after it, and is taken back to the byte', async () => {
    const before = await bed.remote();
    await bed.shell('echo two > f; git commit -qam two');
    expect(await bed.act('git push origin main')).toBe(true);
    expect(bed.log.kinds).toEqual(['EffectPlanned', 'run: git push origin main', 'EffectEnded']);
    expect(await bed.remote()).not.toBe(before);
    expect(await bed.rollBack()).toEqual([]);
    expect(await bed.remote()).toBe(before);
    expect(bed.log.kinds.at(-1)).toBe('EffectUndone');
  });

  test('of a new branch is taken back by taking the branch away; a second rollback has nothing to do', async () => {
    const before = await bed.remote();
    await bed.act('git push -u origin HEAD:refs/heads/topic');
    expect(await bed.remote()).toContain('refs/heads/topic');
    expect(await bed.rollBack()).toEqual([]);
    expect(await bed.remote()).toBe(before);
    const count = bed.log.records.length;
    expect(await bed.rollBack()).toEqual([]);
    expect(bed.log.records.length).toBe(count);
  });

  test.each(['v1', 'tag v1'])('of a tag by its short name (%s) is taken back, or named', async (words) => {
    const before = await bed.remote();
    await bed.shell('git tag v1');
    expect(await bed.act(`git push origin ${words}`)).toBe(true);
    expect(await bed.remote()).toContain('refs/tags/v1');
    const standing = await bed.rollBack();
    if (words === 'v1') expect([standing, await bed.remote()]).toEqual([[], before]);
    else expect(standing).toEqual([expect.stringContaining('which refs it wrote cannot be known from its words')]);
  });

  test('without words follows the branch that is checked out', async () => {
    const before = await bed.remote();
    await bed.shell('git config push.default current; git checkout -q -b side');
    await bed.act('git push');
    expect(await bed.rollBack()).toEqual([]);
    expect(await bed.remote()).toBe(before);
  });

  describe('to where only the configuration of git says', () => {
    let fork: string;
    beforeEach(async () => {
      fork = `file://${bed.folder}/fork.git`;
      await shellIn(probeIn(bed.folder, identity))('git init -q --bare -b main fork.git');
      await bed.shell(`git remote add fork ${fork}; git push -q fork main; git checkout -q -b side; git push -q -u fork side`);
      await bed.shell('echo two > f; git commit -qam two');
    });
    const servers = async (): Promise<string> => `${await bed.remote()}\n${(await bed.shell(`git ls-remote ${fork}`)).trim()}`;

    test.each([
      ['branch.<name>.remote', ':', 'git push'],
      ['branch.<name>.pushRemote', 'git config branch.side.remote origin; git config branch.side.pushRemote fork', 'git push'],
      [
        'remote.pushDefault',
        'git branch -q --unset-upstream; git config remote.pushDefault fork; git config push.default current',
        'git push',
      ],
      ['remote.<name>.pushurl', 'git config remote.origin.pushurl "$(git remote get-url fork)"', 'git push origin side'],
      ['pushInsteadOf', 'git config "url.$(git remote get-url fork).pushInsteadOf" "$(git remote get-url origin)"', 'git push origin side'],
      ['remote.<name>.push', 'git config remote.origin.push "refs/heads/*:refs/for/*"', 'git push -q origin side'],
      ['push.default matching', 'git checkout -q main; git merge -q --ff-only side; git config push.default matching', 'git push fork'],
      ['an address', ':', 'git push ../fork.git side'],
    ])('is taken back: %s', async (_, setup, command) => {
      await bed.shell(setup);
      const before = await servers();
      expect(await bed.act(command)).toBe(true);
      expect(await servers()).not.toBe(before);
      expect(await bed.rollBack()).toEqual([]);
      expect(await servers()).toBe(before);
    });

    test.each([
      [
        'several addresses',
        'git remote set-url --add --push origin "$(git remote get-url origin)" && git remote set-url --add --push origin "$(git remote get-url fork)"',
        'git push origin side',
      ],
      ['an address that the act sets', ':', 'git remote set-url origin "$(git remote get-url fork)" && git push origin side'],
      ['a branch that the act checks out', 'git config push.default current', 'git checkout -q -b new && git push'],
      [
        'a branch that the act removes',
        ':',
        'git checkout -q -b new && git push origin new && git checkout -q side && git branch -q -D new',
      ],
    ])('stands and is named: %s', async (_, setup, command) => {
      await bed.shell(setup);
      const before = await servers();
      expect(await bed.act(command)).toBe(true);
      expect(await servers()).not.toBe(before);
      expect(await bed.rollBack()).toEqual([expect.stringMatching(/^git push.* stands: /)]);
    });

    test.each([['git push origin nothing'], ['git push']])('and that failed leaves nothing: %s', async (command) => {
      await bed.shell('git branch -q --unset-upstream');
      const before = await servers();
      expect(await bed.act(command)).toBe(false);
      expect([await bed.rollBack(), await servers()]).toEqual([[], before]);
    });
  });

  test('that was pushed over since stays, with the command for a person', async () => {
    await bed.shell('echo two > f; git commit -qam two');
    await bed.act('git push origin main');
    await bed.shell('echo three > f; git commit -qam three; git push -q origin main');
    const theirs = await bed.remote();
    const [left = ''] = await bed.rollBack();
    expect(left).toMatch(/^git push origin main stands: its way back ended with 1; take it back with: git push .*--force-with-lease=/);
    expect(await bed.remote()).toBe(theirs);
  });

  test('without an approval waits for a person, unless the gates pass its compensation', async () => {
    await bed.shell('echo two > f; git commit -qam two');
    await bed.act('git push origin main', { approved: false });
    const pushed = await bed.remote();
    const strict = { profile: 'Permissive', network: { mode: 'Loopback' }, approvals: { require: ['External'] } };
    const [left = ''] = await bed.rollBack(strict);
    expect(left).toMatch(/a person has to allow its way back; take it back with: git push/);
    expect(await bed.remote()).toBe(pushed);
  });

  test('that a crash cut off is reported as possibly existing', async () => {
    const { probe, log } = bed;
    const journal = new EffectJournal({ attempt: 1, note: log.note, probe, newId: log.newId });
    const command = 'git push origin main';
    const act = { command, approved: true, ...gateOf({}).outward({ command }) };
    await expect(journal.around(act, () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    expect(log.kinds).toEqual(['EffectPlanned', 'EffectEnded']);
    expect(await bed.rollBack()).toEqual(['git push origin main may stand: it was cut off']);
    log.records.splice(1); // and where not even that could be noted
    expect(await bed.rollBack()).toEqual(['git push origin main may stand: nobody saw its end']);
  });

  test('that changed nothing leaves nothing to take back', async () => {
    await bed.act('git push origin main');
    expect(await bed.rollBack()).toEqual([]);
    expect(bed.log.kinds).not.toContain('EffectUndone');
  });

  test('over a commit that this clone lacks, and a mirror, have no compensation, and report it', async () => {
    await shellIn(probeIn(bed.folder, identity))(
      'git clone -q "file://$PWD/remote.git" other && cd other && echo x > g && git add g && git commit -qm x && git push -q origin main',
    );
    await bed.shell('echo two > f; git commit -qam two');
    await bed.act('git push --force origin main');
    await bed.act('git push --mirror origin');
    const left = await bed.rollBack();
    expect(left[0]).toMatch(/^git push --mirror origin stands: which refs it wrote cannot be known/);
    expect(left[1]).toMatch(/refs\/heads\/main was at [0-9a-f]{40}, which this clone does not have/);
  });
});

describe('changes by kubectl', () => {
  const object = (resourceVersion: string, more: object = {}, kind = 'ConfigMap'): object => {
    const metadata = { name: 'app', namespace: 'team', uid: 'u-1', resourceVersion };
    return { apiVersion: 'v1', kind, metadata, data: { is: "it's" }, ...more };
  };
  /** A server that holds one object, or none, before the act and another one after it. */
  const wayBack = async (command: string, before: object | null, after: object | null): Promise<Way | null> => {
    const says = (held: object | null): Probe => {
      const stdout = held === null ? '' : JSON.stringify(held);
      return () => Promise.resolve({ exitCode: 0, stdout });
    };
    const { external, movesAbout } = gateOf({}).outward({ command });
    const [plan] = planEffects(external, movesAbout) as readonly [EffectPlan];
    expect(plan.kind).toBe('KubectlApply');
    return (await plan.look(says(before)))(says(after), true);
  };

  test.each([
    ['made', 'kubectl apply -n team -f app.yaml', null, object('2')],
    ['changed', 'kubectl replace -n team -f app.yaml', object('1'), object('2')],
    ['deleted', 'kubectl delete -n team -f app.yaml', object('1'), null],
  ])('has, where it was %s, a way back that the gates let run after a yes, and not without one', async (_, command, before, after) => {
    const way = await wayBack(command, before, after);
    const undo = way !== null && 'command' in way ? way.command : '';
    expect(undo).toContain('kubectl');
    expect(hindranceOf(gateOf(asking), undo, true)).toBeNull();
    expect(hindranceOf(gateOf(asking), undo, false)).toBe('a person has to allow its way back');
    expect(hindranceOf(gateOf({ profile: 'Privileged' }), undo, true)).toBeNull();
    expect(hindranceOf(gateOf({ profile: 'Default' }), undo, true)).toMatch(/^gate 1 refuses its way back/);
  });

  test.each(['Namespace', 'PersistentVolumeClaim'])('has none where a %s is gone, with its content', async (kind) => {
    const way = await wayBack('kubectl delete -f app.yaml', object('1', {}, kind), null);
    expect(way).toEqual({ why: `what ${kind} app held is gone with it` });
  });
});

describe('other acts', () => {
  test('that stay inside write no note', async () => {
    await bed.act('echo three > f && git commit -qam three');
    expect(bed.log.kinds).toEqual(['run: echo three > f && git commit -qam three']);
  });

  test('that reach out and that nothing takes back are listed', async () => {
    await bed.act('true || curl -X POST https://example.com/hook', { policy: { network: { mode: 'Allowed' } } });
    expect(bed.log.kinds[0]).toBe('EffectPlanned');
    expect(await bed.rollBack()).toEqual(['curl -X POST https://example.com/hook stands: nothing is known that takes it back']);
  });

  test('with and without a compensation are distinguished', () => {
    const { external, movesAbout } = gateOf({}).outward({ command: 'git push origin main && curl https://example.com' });
    expect(planEffects(external, movesAbout).map(({ kind }) => kind)).toEqual(['GitPush', 'Other']);
    const moved = gateOf({}).outward({ command: 'cd sub && git push origin main' });
    expect(planEffects(moved.external, moved.movesAbout).map(({ kind }) => kind)).toEqual(['Other']);
  });
});

test('words survive the shell', async () => {
  for (const word of ['a b', "it's", '$HOME `id` "x" \\', '', '*', 'refs/heads/ünï', 'a\nb']) {
    expect((await shellIn(bed.probe)(`printf %s ${quote(word)}`)).stdout).toBe(word);
  }
  await writeFile(join(bed.folder, 'clone', 'unused'), '');
});

test('a question that fails is not taken for an answer', async () => {
  const silent: Probe = () => Promise.resolve({ exitCode: 128, stdout: '' });
  const [plan] = planEffects(gateOf({}).outward({ command: 'git push origin main' }).external, false) as readonly [EffectPlan];
  const after = await plan.look(silent);
  expect(await after(bed.probe, true)).toEqual({ why: 'the remote origin did not say what it held before' });
});
