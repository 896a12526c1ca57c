import type { Static } from 'typebox';
import { isolationLevels } from '../../keeper/info.ts';
import { traceConsents } from '../../trace/index.ts';
import { policyProfiles } from '../agenttask/limits.ts';
import { atomicList, choice, flag, HostPort, integer, mapOf, money, optional, rule, setOf, struct, text } from '../schema/index.ts';

const labelText = text('Value.', { max: 63 });
const LabelSelector = struct('Labels that the namespace must have; empty: every namespace.', {
  matchLabels: optional(mapOf('Labels and their values.', labelText, { max: 32 })),
});

/** `spec.allowedNamespaces`. */
export const AllowedNamespaces = struct(
  'Whose tasks the pool takes.',
  {
    from: choice(
      'Same: its own namespace. Selector: those that selector finds. All: every namespace.',
      ['Same', 'Selector', 'All'],
      'Same',
    ),
    selector: optional(LabelSelector),
  },
  {
    filled: true,
    rules: [
      rule(
        "self.from == 'Selector' ? has(self.selector) : !has(self.selector)",
        'spec.allowedNamespaces.selector must be set exactly when spec.allowedNamespaces.from is Selector; set or remove it',
      ),
    ],
  },
);
export type AllowedNamespaces = Static<typeof AllowedNamespaces>;

const MaxBudget = struct('Most that one task may use, and what a task gets that names no bound.', {
  wallSeconds: optional(integer('Seconds in which a task runs, over all attempts.', 1, 31_536_000)),
  toolCalls: optional(integer('Commands and edits, over all attempts.', 1, 1_000_000)),
  tokens: optional(integer('Tokens of chat models, in and out, over all attempts.', 1, 1_000_000_000_000)),
  cost: optional(money('Cost by spec.experts[].engine.api.price, over all attempts.')),
});

/** Hosts that one pool may list. */
export const maxPoolHosts = 128;

const unopenable = "host.host.startsWith('169.254.') || host.host.startsWith('0.') || host.host == 'localhost'";

const AllowedHosts = atomicList(
  'The only hosts that tasks may list in spec.policy.network.hosts, and the only ones that may lead to addresses that are not public; imports of Git repositories reach those too. Default: tasks may list any host, and reach public addresses only. Empty: they may list none.',
  HostPort,
  {
    max: maxPoolHosts,
    rules: [
      rule(
        `!self.exists(host, ${unopenable})`,
        'spec.policy.allowedHosts[].host must not be localhost or an address in 0.0.0.0/8 or 169.254.0.0/16, which are never opened; remove it',
      ),
    ],
  },
);

const TraceConsents = struct(
  'Uses of traces of tasks; see spec.trace.consent of a task.',
  {
    default: choice('Of a task that does not say.', traceConsents, 'None'),
    most: choice('Most that a task may say.', traceConsents, 'Training'),
  },
  {
    rules: [
      rule(
        "self.most == 'Training' || self.default == 'None' || self.default == self.most",
        'spec.policy.traceConsent.default must not be more than spec.policy.traceConsent.most; lower it',
      ),
    ],
  },
);

/** `spec.policy`. */
export const PoolPolicy = struct(
  'Floors and ceilings for all tasks of the pool.',
  {
    minIsolation: choice('Weakest wall that is acceptable, weakest first.', isolationLevels, 'Container'),
    allowUnenforcedNetwork: flag('Whether sandboxes may run where network policies are not enforced.', false),
    profiles: optional(
      setOf('Values of spec.policy.profile that tasks may have; default: Default and Strict.', choice('Set of rules.', policyProfiles), {
        max: policyProfiles.length,
        min: 1,
      }),
    ),
    maxBudget: optional(MaxBudget),
    maxDeadlineSeconds: optional(
      integer('Longest spec.deadlineSeconds of a task; one that is raised above it later ends at this one.', 10, 604_800),
    ),
    maxRetentionSeconds: optional(
      integer(
        'Longest time after its end for which anything of a task is kept: its artifacts, its durable copies and its sandbox. Default: artifacts stay for ever, and the rest for as long as spec.retention of the task says.',
        3600,
        315_360_000,
      ),
    ),
    allowedHosts: optional(AllowedHosts),
    traceConsent: optional(TraceConsents),
  },
  { filled: true },
);
export type PoolPolicy = Static<typeof PoolPolicy>;

/** Tokens and money of one bound. */
const amounts = {
  tokens: optional(integer('Tokens of chat models, in and out.', 1, 1_000_000_000_000)),
  cost: optional(money('Cost by spec.experts[].engine.api.price.')),
};

const Spending = struct(
  'Most that tasks may spend on chat models in one window. An attempt begins only when what was spent, what running attempts may still spend and its own budget fit; else its task waits.',
  {
    windowSeconds: integer(
      'Length of a window. Windows follow one another from 1970-01-01T00:00:00Z on: days end at midnight UTC.',
      60,
      2_678_400,
      86_400,
    ),
    ...amounts,
    perNamespace: optional(struct('The same for the tasks of each namespace.', amounts)),
  },
  {
    rules: [
      rule(
        'has(self.tokens) || has(self.cost) || (has(self.perNamespace) && (has(self.perNamespace.tokens) || has(self.perNamespace.cost)))',
        'spec.limits.spending must hold tokens, cost, or one of them in perNamespace; add it, or remove spec.limits.spending',
      ),
    ],
  },
);

/** `spec.limits.spending`. */
export type PoolSpending = Static<typeof Spending>;

/** Rules by which a capped unit needs a bound for tasks that name none: what an attempt may spend is set aside before it begins. */
export const spendingRules = (['tokens', 'cost'] as const).map((unit) => {
  const spending = 'self.limits.spending';
  const capped = `(has(${spending}.${unit}) || (has(${spending}.perNamespace) && has(${spending}.perNamespace.${unit})))`;
  return rule(
    `!has(self.limits) || !has(${spending}) || !${capped} || (has(self.policy.maxBudget) && has(self.policy.maxBudget.${unit}))`,
    `spec.policy.maxBudget.${unit} must be set beside a cap of ${unit} in spec.limits.spending: it is the budget of tasks that name none; add it`,
  );
});

/** `spec.limits`. */
export const PoolLimits = struct(
  'Amount of work that the pool takes on; a bound that is left out does not exist, unless it names a default.',
  {
    maxRunning: optional(integer('Tasks that run at once.', 0, 1_000_000)),
    maxQueued: optional(integer('Tasks that wait; further ones are refused.', 0, 10_000_000)),
    perNamespace: optional(
      integer(
        'Tasks of one namespace that run at once; default: in a pool that other namespaces may use, three quarters of its slots, so that none takes all of them.',
        1,
        1_000_000,
      ),
    ),
    queueTimeoutSeconds: optional(
      integer(
        'Seconds that a task may wait in the queue, after which it has failed; dependencies and pauses between attempts do not count.',
        1,
        2_592_000,
      ),
    ),
    spending: optional(Spending),
  },
  {
    rules: [
      rule(
        '!has(self.maxRunning) || !has(self.perNamespace) || self.perNamespace <= self.maxRunning',
        'spec.limits.perNamespace must not be more than spec.limits.maxRunning; lower it',
      ),
    ],
  },
);
export type PoolLimits = Static<typeof PoolLimits>;
