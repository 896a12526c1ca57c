// The dashboard in a real browser, before a real API server.
import { run } from '@agentfleet/cli';
import { systemClock } from '@agentfleet/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collection, enabled, until } from '../contract/api/server.ts';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { UiBed } from './bed.ts';
import {
  conversation,
  fleet,
  hostile,
  hostileConversation,
  hostilePatch,
  longConversation,
  patch,
  sample,
  type Sample,
} from './content.ts';
import { type OpenPage, type Size, sizes } from './page.ts';
import { platform } from './platform.ts';
import { bundle, delivered, goesBack, onlyShows, undoes } from './undo.ts';
import { editor, viewer } from './users.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';

describe.runIf(enabled)('the dashboard in a browser', () => {
  let bed: UiBed;
  let token: string;
  let ns: string;

  const make = async ({ name, task, status }: Sample): Promise<string> => {
    const { metadata } = (await bed.results.post(collection(ns, 'agenttasks'), task)) as { metadata: { uid: string } };
    await bed.results.status(name, status);
    return metadata.uid;
  };
  /** Stores files and writes them into the status as the worker would. */
  const leave = async (
    { name, status }: Sample,
    uid: string,
    files: Readonly<Record<string, string | Buffer>>,
    more: object = {},
  ): Promise<void> => {
    const artifacts = [];
    for (const [file, content] of Object.entries(files))
      artifacts.push({ name: file, ...(await bed.results.store.put(`${ns}/${name}/${uid}/1/${file}`, content, 'text/plain')) });
    await bed.results.status(name, { run: { ...(status['run'] as object), artifacts, ...more } });
  };
  const inside = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}in=${ns}`;
  const orders = async (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    ((await bed.results.server.ask('GET', collection(ns, 'agenttaskorders'))).body.items ?? []).map(({ spec }) => spec);

  beforeAll(async () => {
    bed = await UiBed.start();
    ns = bed.results.namespace;
    token = await bed.user('ann', editor);
    for (const one of fleet()) {
      const uid = await make(one);
      if (one.name !== 'date-offsets') continue;
      await bed.results.mirror(uid, 1, conversation());
      await leave(one, uid, { 'change.patch': patch, 'revert.tar': await bundle() });
    }
    for (const [plural, { body, status }] of Object.entries(platform())) {
      await bed.results.post(collection(ns, plural), body);
      const path = `${collection(ns, plural)}/${(body['metadata'] as { name: string }).name}/status`;
      if (status === undefined) continue;
      const answer = await bed.results.server.ask('PATCH', path, { body: { status }, type: 'application/merge-patch+json' });
      if (answer.status !== 200) throw new Error(answer.body.message);
    }
    const done = delivered();
    await leave(done, await make(done), { 'change.patch': patch, 'revert.tar': await bundle() });
    const bad = sample('hostile', { goal: hostile.replaceAll('\u0000', ''), phase: 'Cancelled', age: 5, tokens: 900 });
    const uid = await make(bad);
    await bed.results.mirror(uid, 1, hostileConversation());
    const said = hostile.replaceAll('\u0000', '');
    await leave(bad, uid, { 'change.patch': hostilePatch }, { answer: said, progress: { done: 0, total: 1, message: said.slice(0, 100) } });
  });
  afterAll(() => bed.close());

  const screens: readonly (readonly [name: string, path: () => string, seen: string])[] = [
    ['login', () => '/', 'Log in'],
    ['fleet', () => inside('/'), 'Needs a person'],
    ['task', () => inside(`/tasks/${ns}/date-offsets`), 'Refused by rule'],
    ['change', () => inside(`/tasks/${ns}/date-offsets?tab=change`), 'CHANGES.md'],
    ['checks', () => inside(`/tasks/${ns}/date-offsets?tab=judgement`), '91 %'],
    ['timeline', () => inside(`/tasks/${ns}/date-offsets?tab=timeline`), 'All checks hold'],
    ['pools', () => inside('/pools'), 'Places that were not given'],
    ['rollouts', () => inside('/rollouts'), '50 % of tasks, step 2 of 2'],
    ['energy', () => inside('/energy'), 'Does it come true'],
    ['new', () => inside('/new'), 'What is applied'],
    ['artifacts', () => inside(`/tasks/${ns}/date-offsets?tab=artifacts`), 'Event log'],
    ['decide', () => inside(`/tasks/${ns}/release-notes`), 'Why it is held'],
  ];
  it.each(screens.flatMap((screen) => (Object.keys(sizes) as Size[]).map((size) => [screen[0], size, screen[1], screen[2]] as const)))(
    'shows %s, %s, in both colours: nothing that axe finds, no error, not wider than the window',
    async (name, size, path, seen) => {
      const open = await bed.open(path(), { size, ...(name === 'login' ? {} : { token }) });
      await open.sees(seen);
      for (const scheme of ['light', 'dark'] as const) {
        await open.page.emulateMedia({ colorScheme: scheme });
        await open.shot(`${name}-${size}-${scheme}`);
        expect(await open.axe(), scheme).toEqual([]);
      }
      expect(await open.overflows()).toBe(false);
      expect(open.faults).toEqual([]);
      await open.close();
    },
  );

  it('loads at most 250 KiB of scripts, compressed, and runs none but its own', async () => {
    const open = await bed.open('/', { token });
    let bytes = 0;
    const scripts: string[] = [];
    open.page.on('response', (response) => {
      if (!response.url().endsWith('.js')) return;
      scripts.push(response.headers()['content-encoding'] ?? 'none');
      bytes += Number(response.headers()['content-length']);
    });
    await open.page.goto(inside('/'));
    await open.sees('Needs a person');
    expect(scripts.length).toBeGreaterThan(0);
    expect(new Set(scripts)).toEqual(new Set(['gzip']));
    console.log(`first load: ${(bytes / 1024).toFixed(1)} KiB of scripts`);
    expect(bytes).toBeLessThanOrEqual(250 * 1024);
    // Trusted Types refuse the text of a script before the policy of contents would refuse to run it.
    const ran = await open.page.evaluate<boolean>(`(() => {
      const script = document.createElement('script');
      try {
        script.textContent = 'window.intruder = true';
        document.body.append(script);
      } catch {}
      return 'intruder' in window;
    })()`);
    expect(ran).toBe(false);
    await open.close();
  });

  it('shows hostile strings as text', async () => {
    const open = await bed.open(inside('/?q=hostile'), { token });
    const look = async (seen: string | RegExp): Promise<void> => {
      await open.sees(seen);
      const found = await open.page.evaluate<object>(String.raw`({
        elements: document.querySelectorAll('[onerror], img[src="x"], script:not([src]), a[href^="javascript"]').length,
        controls: /[\u0000\u0007\u001b\u202e]/.test(document.body.innerText),
      })`);
      expect(found).toEqual({ elements: 0, controls: false });
    };
    await look(/<img src=x onerror/);
    for (const [tab, seen] of [
      ['', /Refused by rule/],
      ['change', /\+x = |x = '/],
      ['judgement', /What proves it/],
      ['timeline', /refused by/],
      ['artifacts', /change\.patch/],
      ['object', /kind: AgentTask/],
    ] as const) {
      await open.page.goto(inside(`/tasks/${ns}/hostile?tab=${tab}`));
      await look(seen);
    }
    expect(open.faults).toEqual([]);
    await open.close();
  });

  it('shows a task within the list as soon as it is applied, and what it says as it is said', async () => {
    const open = await bed.open(inside('/'), { token });
    await open.sees('Needs a person');
    const live = sample('just-applied', { goal: 'Do what was applied just now.', phase: 'Running', age: 0 });
    const begun = performance.now();
    const uid = await make(live);
    await open.sees('Do what was applied just now.');
    console.log(`from apply to pixel: ${(performance.now() - begun).toFixed(0)} ms`);
    await open.page.getByRole('link', { name: /just-applied/ }).click();
    await open.sees(/Nothing was said yet|Listening|cannot be read now/);
    await bed.results.mirror(uid, 1, conversation().slice(0, 6));
    await open.sees('The test fails; I run it first to see how.');
    await open.close();
  });

  it('decides: approves with a confirmation, answers, suspends, cancels', async () => {
    const open = await bed.open(inside(`/tasks/${ns}/release-notes`), { token });
    const { page } = open;
    await page.getByLabel('Why, for the record').fill('Looked at the diff.');
    await page.getByRole('button', { name: 'Approve' }).click();
    expect(await orders()).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await open.sees('Approved: it goes on.');
    await page.goto(inside(`/tasks/${ns}/billing-rounding`));
    await page.getByLabel('Your answer').fill('Half to even.');
    await page.getByRole('button', { name: 'Answer' }).click();
    await open.sees('Your answer goes to the agent.');
    await page.goto(inside(`/tasks/${ns}/slow-export`));
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await page.getByRole('button', { name: 'Cancel and restore' }).click();
    await page.getByRole('dialog').getByText('remove CHANGES.md').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel and restore' }).click();
    await open.sees('It is cancelled, and snapshot 0 is restored.');
    const requester = `system:serviceaccount:${ns}:ann`;
    const given = (await orders()).map(({ type, message, reason, requester }) => ({ type, message, reason, requester }));
    expect(given).toHaveLength(3);
    expect(given).toEqual(
      expect.arrayContaining([
        { type: 'Approve', message: undefined, reason: 'Looked at the diff.', requester },
        { type: 'Answer', message: 'Half to even.', reason: undefined, requester },
        { type: 'Cancel', message: undefined, reason: undefined, requester },
      ]),
    );
    await open.close();
  });

  it('shows what undoing would do, and whether the event log is whole', async () => {
    const open = await bed.open(inside(`/tasks/${ns}/date-offsets?tab=timeline`), { token });
    const { page } = open;
    await page.getByRole('button', { name: 'What undoing back to here would do' }).click();
    await open.sees('workspace/dates/tokenizer.py');
    await open.sees('the request to the wiki');
    await page.getByRole('button', { name: 'What changed since s0000' }).click();
    await open.sees('+ int(text[4:6] or 0))');
    expect(await page.getByText("'+05'").count()).toBe(0); // it was refused
    await page.getByRole('tab', { name: /Artifacts/ }).click();
    await open.sees(/Whole: \d+ records/);
    await open.close();
  });

  it('has a task that runs go back to a snapshot, after a look at what that discards', async () => {
    await goesBack(await bed.open(inside(`/tasks/${ns}/date-offsets?tab=timeline`), { token }), orders);
  });

  it('shows of each model where it is, what it costs and how long it takes to answer', async () => {
    const open = await bed.open(inside('/pools'), { token });
    const row = open.page.getByRole('row', { name: /^chat/ });
    await row.waitFor();
    for (const text of ['large-1 at llm.example.com', 'Ready', '2/2', 'p50 2.3 s', 'p95 11 s', '3.00 in, 15 out'])
      expect(await row.textContent()).toContain(text);
    const left = (tag: string): Promise<number> =>
      open.page.locator(`.table ${tag}`).first().evaluate('(one) => one.getBoundingClientRect().x');
    expect(await left('tbody')).toBe(await left('thead'));
    expect(await open.page.getByRole('row', { name: /^search/ }).textContent()).toContain('3 asked, 2 granted');
    await open.close();
  });

  it('undoes a task that has ended by another one, after a look at what it will do', async () => {
    await undoes(await bed.open(inside(`/tasks/${ns}/delivered`), { token }), bed.results.server, collection(ns, 'agenttasks'));
  });

  it('says what a user may not do, and shows the rest', async () => {
    const looker = await bed.user('looker', viewer);
    const open = await bed.open(`/?in=${ns},default`, { token: looker });
    await open.sees('You may not look into default.');
    await open.sees('billing-rounding');
    await open.page.goto(inside(`/tasks/${ns}/http-client`));
    await open.page.getByRole('button', { name: 'Terminate' }).click();
    await open.page.getByRole('dialog').getByRole('button', { name: 'Delete the sandbox' }).click();
    await open.sees('Ask for the ClusterRole');
    await open.close();
    const stranger = await bed.open('/?in=default', { token: looker });
    await stranger.sees('You may not look at tasks in default.');
    await stranger.close();
  });

  it('leads back to the login when the token ends, and from there to the same page', async () => {
    const leaver = await bed.user('leaver', viewer);
    const open = await bed.open(inside('/'), { token: leaver });
    await open.sees('Needs a person');
    await bed.results.server.ask('DELETE', `/api/v1/namespaces/${ns}/serviceaccounts/leaver`);
    const path = bed.results.pathOf('hostile', 'log');
    await until('the token ends', async () => (await bed.results.raw(path, { token: leaver })).status === 401);
    await open.page.getByRole('link', { name: /http-client/ }).click();
    await open.sees('Your login has ended.');
    await open.page.getByLabel('Token').fill(token);
    await open.page.getByRole('button', { name: 'Log in' }).click();
    await open.sees('Upgrade the HTTP client to version 5.');
    await open.close();
  });

  it('says when the API server is away, and goes on when it is back', async () => {
    const open = await bed.open(inside('/'), { token });
    await open.sees('Needs a person');
    bed.cable.cut();
    await open.sees('Stale.');
    await open.shot('away');
    await make(sample('made-meanwhile', { goal: 'Made while nobody looked.', phase: 'Running', age: 0 }));
    bed.cable.mend();
    await open.sees('made-meanwhile');
    await open.page.getByText('Stale.').waitFor({ state: 'detached' });
    await open.close();
  });

  it('draws only what is in sight: of a conversation of 10,000 records', async () => {
    const long = sample('long', { goal: 'A long one.', phase: 'Running', age: 600 });
    await bed.results.mirror(await make(long), 1, longConversation(5000));
    const open = await bed.open(inside(`/tasks/${ns}/long`), { token });
    await open.sees('This is reply 1.');
    await open.page.getByRole('button', { name: 'To the newest' }).click();
    await open.sees('This is reply 5000.');
    expect(await open.page.locator('.slot').count()).toBeLessThan(60);
    await open.close();
  });

  it('applies a task from the form, after a try, and says what the API server refuses', async () => {
    const open = await bed.open(inside('/new'), { token });
    const { page } = open;
    await page.getByLabel('Goal').fill('Make the report reproducible.');
    await page.getByLabel('Name', { exact: true }).fill('from-the-form');
    await page.getByLabel('Namespace', { exact: true }).fill(ns);
    await page.getByLabel('Git repository').fill('https://example.com/acme/report');
    await page.getByLabel('Checks').fill('npm test -- --grep "two words"');
    await page.getByLabel('Tokens at most').fill('-5');
    await open.sees(/- two words/);
    await page.getByRole('button', { name: 'Try without applying' }).click();
    await open.sees(/spec\.budget\.tokens/);
    await page.getByLabel('Tokens at most').fill('50000');
    await page.getByRole('button', { name: 'Try without applying' }).click();
    await open.sees('The API server would take it.');
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await open.sees('No worker has the task.');
    const { body } = await bed.results.server.ask('GET', `${collection(ns, 'agenttasks')}/from-the-form`);
    expect(body.spec).toMatchObject({
      goal: 'Make the report reproducible.',
      checks: [{ command: ['npm', 'test', '--', '--grep', 'two words'] }],
    });
    await open.close();
  });

  it('is served by "fleet dashboard" with the own kubeconfig, to whom has the address alone', async () => {
    const stop = new AbortController();
    const lines: string[] = [];
    const env = { KUBECONFIG: await kubeconfigPath() };
    const out = (text: string): void => void lines.push(text.trim());
    const ended = run(['dashboard', '--port', '0', '--read-only'], {
      env,
      clock: systemClock,
      random: Math.random,
      terminal: false,
      signal: stop.signal,
      out,
      err: out,
    });
    await until('it listens', () => Promise.resolve(lines.length > 0));
    const { origin, hash } = new URL(lines[0] ?? '');
    const open = await bed.open(`${origin}/tasks/${ns}/release-notes${hash}`, {});
    await open.sees('This dashboard is read-only');
    expect(open.page.url()).not.toContain('key=');
    await onlyShows(open, `${origin}/tasks/${ns}`);
    const stranger = await bed.open(`${origin}/#key=guessed`, {});
    await stranger.sees('the key is not that of this dashboard');
    await stranger.close();
    stop.abort();
    expect(await ended).toBe(0);
  });

  const many = full ? 10_000 : 500;
  it(
    `draws only what is in sight: of ${many} tasks, found by keyboard`,
    async () => {
      const names = Array.from({ length: many }, (_, at) => `many-${String(at).padStart(5, '0')}`);
      const left = [...names];
      const one = async (): Promise<void> => {
        for (let name = left.shift(); name !== undefined; name = left.shift())
          await bed.results.post(collection(ns, 'agenttasks'), sample(name, { goal: `Goal of ${name}.`, phase: 'Pending', age: 1 }).task);
      };
      await Promise.all(Array.from({ length: 24 }, one));
      const open = await bed.open(inside('/'), { token });
      const { page } = open;
      await page.locator('.list').waitFor();
      await page.waitForFunction(`Number(document.querySelector('.list')?.getAttribute('aria-rowcount')) > ${many}`);
      expect(await page.locator('.line').count()).toBeLessThan(60);
      console.log(`list of ${many} tasks: interaction p95 ${(await interactions(open)).toFixed(0)} ms`);
      await page.keyboard.press('/');
      await page.keyboard.type('many-00321');
      await page.waitForFunction(`document.querySelectorAll('.line').length === 1`);
      expect(new URL(page.url()).searchParams.get('q')).toBe('many-00321');
      await page.locator('.line a').focus();
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await open.sees('Goal of many-00321.');
      await open.close();
    },
    full ? 900_000 : 60_000,
  );

  /** The 95th percentile of ms from an input to the frame that shows it: filters, orders and scrolls. */
  function interactions({ page }: OpenPage): Promise<number> {
    return page.evaluate<number>(`(async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      const chips = [...document.querySelectorAll('.chips button')];
      const took = [];
      for (let turn = 0; turn < 40; turn += 1) {
        const begun = performance.now();
        if (turn % 2 === 0) chips[(turn / 2) % chips.length].click();
        else window.scrollTo(0, turn * 900);
        await frame();
        took.push(performance.now() - begun);
      }
      chips[0].click();
      await frame();
      return took.sort((a, b) => a - b)[Math.floor(took.length * 0.95)];
    })()`);
  }
});
