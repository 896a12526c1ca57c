import { hasHole, hole, plain } from '../shell/marks.ts';
import { args, operands, origins, type Code, type Command } from '../shell/command.ts';
import { found, nothing, type Found, type Rail, type Surroundings } from './rail.ts';

const decoders =
  /^(?:base64|base32|basenc|xxd|od|uudecode|rev|openssl|gunzip|gzip|zcat|bunzip2|bzcat|xzcat|unxz|zstdcat|gpg|tr|hex|hexdump|bc|dc|crypt|ascii2uni|iconv)$/;
const plainReaders = /^(?:cat|head|tail|sed|tee|grep|echo|printf|)$/;

/** Variables by which a program loads other code. */
const loading = /^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PYTHONSTARTUP|PERL5OPT|RUBYOPT)$/;

/** Code that cannot be read in the command: decoded, hidden or made at run time. */
export const obfuscation: Rail = {
  id: 'obfuscation',
  title: 'code that is decoded, hidden or made at run time',
  severity: 'High',
  risk: 'Unknown',
  cure: 'Write the command out as it is to run.',
  check(command, around) {
    const out: Found[] = [];
    if (command.hidden) out.push(...found('Suspicious', `the name ${command.name} is written so that it is not seen`));
    if ([...command.env.keys()].some((name) => loading.test(name)))
      out.push(...found('Suspicious', `a variable in front of ${command.name} loads other code into it`));
    if (
      /^(?:export|declare)$/.test(command.name) &&
      args(command).some((text) => /^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND)=/.test(text))
    )
      out.push(...found('Suspicious', 'a variable loads other code into every program'));
    for (const code of command.code) out.push(...made(command, code, around));
    return out;
  },
};

function made(command: Command, { value, language, source }: Code, around: Surroundings): readonly Found[] {
  const sources = [...origins(value)];
  const decoder = sources.find((one) => decoders.test(one.name));
  const through = source === 'argument' && !/^(?:eval|sh|bash|dash|zsh|ksh|python[\d.]*|node|perl|ruby|env)$/.test(command.name);
  if (decoder !== undefined && !through) return found('High', `${command.name} runs what ${decoder.name} makes of a text`);
  if (!hasHole(value.text)) return nothing;
  if (plain(value.text).trim() === hole) {
    if (
      sources.length > 0 &&
      sources.every(
        (one) => plainReaders.test(one.name) && operands(one).every((text) => ['inside', 'scratch'].includes(around.place(text, one))),
      ) &&
      sources.some((one) => operands(one).length > 0)
    )
      return nothing;
    return found('Unknown', `${command.name} runs a text that only the run would tell`);
  }
  return language === 'text' ? nothing : found('Suspicious', `${command.name} runs a text of which a part is not known`);
}
