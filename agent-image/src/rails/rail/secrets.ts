import { args, hasFlag, operands, type Command } from '../shell/command.ts';
import { globPattern, hasGlob } from '../shell/marks.ts';
import { readTargets } from '../shell/targets.ts';
import { found, nothing, type Rail } from './rail.ts';

const secretFile =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample|template|dist|test|schema|defaults|d\.ts)[\w.-]+)?|\.envrc|id_(?:rsa|dsa|ecdsa|ed25519)(?!.*\.pub$)[\w.-]*|[^/]*\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk|key)|\.npmrc|\.pypirc|\.netrc|_netrc|\.git-credentials|\.pgpass|\.my\.cnf|\.htpasswd|kubeconfig|\.kube\/config|\.docker\/config\.json|\.dockercfg|\.aws\/(?:credentials|config)|\.azure\/\S+|\.config\/(?:gcloud|gh|hub|rclone)\S*|\.ssh(?:\/.*)?|\.gnupg(?:\/.*)?|\.vault-token|\.[a-z]+_history|credentials(?:\.json)?|secrets?\.(?:ya?ml|json|toml|env)|service-account[\w-]*\.json|shadow|gshadow|sudoers|serviceaccount(?:\/.*)?|\.bitcoin\/\S*|wallet\.dat|Login Data|Cookies)$/;
const names =
  '.env .env.local .npmrc .netrc .pypirc .git-credentials id_rsa id_ed25519 id_ecdsa server.pem .bash_history kubeconfig shadow .ssh credentials'.split(
    ' ',
  );
const secretName = /(?:TOKEN|SECRET|PASSW|API_?KEY|CREDENTIAL|PRIVATE|AUTH)/i;

/** Keys, tokens and passwords are read. */
export const secrets: Rail = {
  id: 'secrets',
  title: 'reading keys, tokens, passwords, histories; dumping the environment',
  severity: 'High',
  risk: 'External',
  cure: 'The task needs no secret: use the example file (`.env.example`) or a made-up value.',
  check(command) {
    const { name } = command;
    if (
      /^(?:key-?ring|security|pass|gopass|gpg|secret-tool|vault|op|bw)$/.test(name) &&
      /^(?:get|show|export|find-.*|read|list|--export-secret-keys?|lookup|kv)$/.test(args(command)[0] ?? '')
    )
      return found('High', `${name} hands out secrets`);
    const path =
      readTargets(command).find(isSecret) ??
      args(command).find(
        (text) =>
          /[@=:]/.test(text) && isSecret(text.split(/[@=]/).at(-1) as string) && /^(?:curl|wget|http|openssl|scp|rsync)$/.test(name),
      );
    if (path !== undefined && !reading.test(name))
      return found(/^(?:source|\.)$/.test(name) ? 'Suspicious' : 'High', `${name || 'a redirect'} reads ${path}`);
    if (name === 'history' || name === 'fc') return found('Suspicious', `${name} shows what was typed before`);
    return dump(command);
  },
};

/** Programs that take such a name and show nothing of it. */
const reading =
  /^(?:cp-example|dotenv|docker-compose|chmod|wc|md5sum|sha256sum|file|du|node|npm|python[\d.]*|test|diff-names|eslint|prettier)$/;

export function isSecret(text: string): boolean {
  const path = text
    .replace(/^@/, '')
    .replace(/\/{2,}/g, '/')
    .replace(/\/+$/, '');
  if (!hasGlob(path)) return secretFile.test(path);
  const base = path.slice(path.lastIndexOf('/') + 1);
  if (secretFile.test(path.replace(/[\uE001-\uE003]/g, ''))) return true;
  // `*` and `*.json` reach everything and mean nothing; `.e*` and `id_*` mean a secret.
  const pattern = globPattern(base);
  return (
    /[a-z._]{2}|^\./.test(base.replace(/[\uE001-\uE003].*$/, '')) && !/^\.\uE001$/.test(base) && names.some((name) => pattern.test(name))
  );
}

function dump(command: Command) {
  const { name } = command;
  const words = operands(command);
  const asked = words.some((text) => secretName.test(text));
  if (name === 'printenv')
    return asked
      ? found('High', `printenv shows ${words.join(' ')}`)
      : words.length === 0
        ? found('Suspicious', 'printenv shows the whole environment')
        : nothing;
  if (
    name === 'env' &&
    words.filter((text) => !text.includes('=')).length === 0 &&
    !hasFlag(command, 'iS', '--help', '--version', '--ignore-environment')
  )
    return found('Suspicious', 'env shows the whole environment');
  if (
    (name === 'set' && args(command).length === 0) ||
    (/^(?:export|declare|typeset)$/.test(name) && (args(command).length === 0 || (hasFlag(command, 'px') && words.length === 0)))
  ) {
    return found('Suspicious', `${name} shows the whole environment`);
  }
  if (name === 'compgen' && hasFlag(command, 've')) return found('Suspicious', 'compgen lists variables');
  return nothing;
}
