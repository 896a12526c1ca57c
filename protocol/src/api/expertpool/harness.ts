import type { Static } from 'typebox';
import { execBounds } from '../../keeper/exec.ts';
import { atomicList, choice, integer, labelName, listByKey, optional, rule, struct, text } from '../schema/index.ts';
import { isChat } from './chat.ts';

const path = 'spec.experts[].engine.harness';

/** APIs that the model endpoint inside the sandbox can answer; None: the program gets no model. */
export const harnessApis = ['Chat', 'Messages', 'Responses', 'None'] as const;
export type HarnessApi = (typeof harnessApis)[number];

/** Templates that a word of the command or a value of the environment may hold. */
export const harnessTemplates = ['{{goal}}', '{{goalFile}}', '{{checks}}', '{{model}}', '{{endpoint}}', '{{key}}'] as const;

function words(field: string) {
  return atomicList('Program and arguments; no shell in between.', text('One argument.', { max: 1024 }), {
    max: 32,
    min: 1,
    rules: [rule("self[0].trim() != ''", `${field}[0] must name a program; write it like [mini, --yolo]`)],
  });
}

const Install = struct('A command that installs the program before snapshot 0; it must end with exit status 0.', {
  command: words(`${path}.install.command`),
  network: choice(
    'Hosts in reach through the egress proxy. Registries: those that the platform has listed. Allowed: spec.policy.network.hosts of the task.',
    ['None', 'Registries', 'Allowed'],
    'Registries',
  ),
});

/** An agent program that runs attempts. */
export const Harness = struct(
  'An agent program that works inside the sandbox, in the image of the tools.',
  {
    command: words(`${path}.command`),
    env: optional(
      listByKey(
        'Variables of the program beside those of the model endpoint, or in their place.',
        'name',
        struct('One variable.', {
          name: text('Its name.', { max: 128, min: 1, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
          value: text('Its value.', { max: 1024 }),
        }),
        { max: 32 },
      ),
    ),
    input: choice(
      'Way by which it gets the goal. Template: {{goal}} or {{goalFile}} in the command. Stdin: its standard input.',
      ['Template', 'Stdin'],
      'Template',
    ),
    api: choice('API of the model endpoint at 127.0.0.1:3128; None: the program gets no model.', harnessApis, 'Chat'),
    model: optional(labelName('The chat model of the pool that answers the endpoint; default: none, with api None only.')),
    install: optional(Install),
    acts: choice(
      'Way by which it changes the workspace. Own: by its own commands and edits, which nothing judges before. Tools: by the MCP server at {{endpoint}}/mcp, whose calls pass both gates; it may write below /tmp only.',
      ['Own', 'Tools'],
      'Own',
    ),
    rounds: integer('Runs of one attempt: after each but the last, what the checks say of the result is handed back.', 1, 10, 2),
    stallSeconds: integer(
      'Seconds without output and without a request to the model after which it is ended.',
      10,
      execBounds.maxTimeoutSeconds,
      300,
    ),
  },
  {
    rules: [
      rule(
        "(self.api == 'None') != has(self.model)",
        `${path}.model must name the chat model that answers the program, and must be absent exactly with ${path}.api None; set it, or remove it`,
      ),
      rule(
        "self.acts == 'Own' || self.api != 'None'",
        `${path}.acts must be Own beside ${path}.api None: a program without a model calls no tools; set the api, or remove acts`,
      ),
      rule(
        "self.input == 'Stdin' || self.command.exists(word, word.contains('{{goal'))",
        `${path}.command must hold {{goal}} or {{goalFile}}, or ${path}.input must be Stdin: the program has to get its goal; add one of them`,
      ),
    ],
  },
);
export type Harness = Static<typeof Harness>;

/** Rules of one expert. */
export const harnessExpertRules = [
  rule(
    "self.engine.type != 'Harness' || self.role == 'Generalist'",
    'spec.experts[].role must be Generalist beside the engine Harness, which runs whole attempts; correct the role or the engine',
  ),
  rule(
    "self.engine.type != 'Harness' || (self.replicas <= 1 && !has(self.resources))",
    'spec.experts[].replicas must be 0 or 1 and spec.experts[].resources absent beside the engine Harness, which runs in the sandbox; set spec.sandbox.template.resources',
  ),
];

/** Rules of the list of experts. */
export const harnessListRules = [
  rule(
    "self.filter(e, e.engine.type == 'Harness').size() <= 1",
    'spec.experts must hold one expert with the engine Harness at most, as it runs the attempts; remove the others',
  ),
  rule(
    `self.all(e, !has(e.engine.harness) || !has(e.engine.harness.model) || self.exists(o, o.name == e.engine.harness.model && ${isChat('o')}))`,
    `${path}.model must be the name of an expert of the pool that is a chat model (OpenAI, Anthropic, Replay of the format Chat, VLLM with toolCallParser); add it or correct the name`,
  ),
];
