// A platform engineer with nothing but a browser, before a fleet that works: follows, understands a refusal, answers, undoes,
// decides, starts, and finds out where models run and what they cost. Pictures stay in test/.output/ui.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { scenarios } from '../sandbox/conversations.ts';
import type { OpenPage } from './page.ts';

const recorded = ['ask', 'protected', 'rename'] as const;

/** Page that a person of the journey sees, and the place of the tasks and the pool. */
export interface Journey {
  /** Logged in. The code that gives it sets how long it waits. */
  readonly open: OpenPage;
  /** Of the tasks. */
  readonly namespace: string;
  /** `namespace/name` of the pool that asks the recorded model. */
  readonly pool: string;
}

/** Files for the recorded server. */
export const recordings = async (): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(
    await Promise.all(
      recorded.map(async (name) => [
        `${name}.json`,
        await readFile(join(import.meta.dirname, `../sandbox/conversations/${name}.json`), 'utf8'),
      ]),
    ),
  ) as Record<string, string>;

/** The tasks of the journey, as a user applies them by kubectl. */
export function tasksFor(pool: string): readonly { readonly name: string; readonly spec: object }[] {
  const [namespace, poolName] = pool.split('/');
  return [...recorded, 'rename-again'].map((name) => {
    const found = scenarios.find((one) => name.startsWith(one.name));
    if (found === undefined) throw new Error(`there is no scenario ${name}`);
    const { goal, files, checks, spec } = found;
    const inline = { files: Object.entries(files).map(([path, content]) => ({ path, content })) };
    const workspace = { type: 'Inline', inline };
    return { name, spec: { poolRef: { name: poolName, namespace }, goal, workspace, checks, attempts: { max: 1 }, ...spec } };
  });
}

/** The query of a link to the namespaces of tasks and pool. */
const placeOf = ({ namespace, pool }: Omit<Journey, 'open'>): string => `in=${[...new Set([namespace, pool.split('/')[0]])].join(',')}`;
/** Returns the path at which the journey begins. */
export const begin = (place: Omit<Journey, 'open'>): string => `/?${placeOf(place)}`;

async function go(journey: Journey, name: string): Promise<void> {
  const { page } = journey.open;
  await page.goto(`/tasks/${journey.namespace}/${name}?${placeOf(journey)}`);
  await page.getByRole('heading', { name, exact: true }).waitFor();
}

const phase = ({ open }: Journey, text: string): Promise<void> => open.page.locator('.task-head .badge', { hasText: text }).waitFor();

export interface Step {
  readonly title: string;
  readonly run: (journey: Journey) => Promise<void>;
}

export const steps: readonly Step[] = [
  {
    title: 'follows the fleet live',
    run: async ({ open }) => {
      const row = open.page.locator('.line', { hasText: 'protected' });
      await row
        .getByText(/Running|Verifying|Succeeded/)
        .first()
        .waitFor();
      await open.shot('journey-1-fleet');
    },
  },
  {
    title: 'understands what was denied, and by which rule',
    run: async (journey) => {
      await go(journey, 'protected');
      await journey.open.sees('Refused by rule');
      await journey.open.shot('journey-2-denied');
      await phase(journey, 'Succeeded');
    },
  },
  {
    title: 'answers a question',
    run: async (journey) => {
      const { page } = journey.open;
      await go(journey, 'ask');
      await page.getByLabel('Your answer').fill('Swiss francs, please.');
      await journey.open.shot('journey-3-question');
      await page.getByRole('button', { name: 'Answer' }).click();
      await phase(journey, 'Succeeded');
      await page.getByRole('tab', { name: /Change/ }).click();
      await journey.open.sees(/CHF/);
    },
  },
  {
    title: 'undoes one that changed files, after a look at what goes',
    run: async (journey) => {
      const { page } = journey.open;
      await go(journey, 'rename-again');
      await page.getByRole('button', { name: 'Accept' }).waitFor();
      await page.getByRole('button', { name: 'Cancel and restore' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('put back shapes.py').waitFor();
      await journey.open.shot('journey-4-undo');
      await dialog.getByRole('button', { name: 'Cancel and restore' }).click();
      await phase(journey, 'Cancelled');
      await page.getByRole('tab', { name: 'Timeline' }).click();
      await journey.open.sees('verified by its hash');
      await journey.open.shot('journey-5-restored');
    },
  },
  {
    title: 'approves one, with the evidence beside the button',
    run: async (journey) => {
      const { page } = journey.open;
      await go(journey, 'rename');
      await journey.open.sees('Why it is held');
      await journey.open.shot('journey-6-review');
      await page.getByRole('button', { name: 'Accept' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
      await phase(journey, 'Succeeded');
      await page.getByRole('tab', { name: 'Timeline' }).click();
      await page
        .getByRole('button', { name: /What changed since/ })
        .first()
        .click();
      await journey.open.shot('journey-7-timeline');
    },
  },
  {
    title: 'starts one',
    run: async (journey) => {
      const { open, namespace, pool } = journey;
      const { page } = open;
      await page.goto(`/new?${placeOf(journey)}`);
      await page.getByLabel('Goal').fill('Write down in README.md what this folder is for.');
      await page.getByLabel('Name', { exact: true }).fill('started-here');
      await page.getByLabel('Namespace', { exact: true }).fill(namespace);
      await page.getByLabel('Checks').fill('test -s README.md');
      await page.getByLabel('Pool').selectOption(pool);
      await page.getByRole('button', { name: 'Apply', exact: true }).click();
      await page.getByRole('heading', { name: 'started-here' }).waitFor();
      // A worker takes it; what becomes of it no recording has.
      await page
        .locator('.fact', { hasText: 'Worker' })
        .getByText(new RegExp(`${pool.split('/')[1]}-workers`))
        .waitFor();
      await open.shot('journey-8-started');
    },
  },
  {
    title: 'says where each model runs, what it cost and how long it took to answer',
    run: async (journey) => {
      const { open, pool } = journey;
      const { page } = open;
      await page.goto(`/pools?${placeOf(journey)}`);
      const region = page.getByRole('region', { name: pool });
      const row = region.getByRole('row').filter({ hasText: /recorded at provider\./ });
      await row.waitFor();
      await region.locator('dl.facts div', { hasText: 'Cost' }).locator('dd').filter({ hasText: /[1-9]/ }).waitFor();
      await row.getByText(/^p50 /).waitFor();
      await open.shot('journey-9-pools');
      if (open.faults.length > 0) throw new Error(`the page reported: ${open.faults.join('; ')}`);
    },
  },
];
