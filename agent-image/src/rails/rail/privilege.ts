import { args, hasFlag, operands, type Command } from '../shell/command.ts';
import { found, nothing, type Rail } from './rail.ts';

/** Modes that make a program run as its owner. The set-group-ID bit alone is work on folders, whose files then get their group. */
const setsUser = /^(?:0?[4567][0-7]{3}|(?:[ugoa+=rwxXst-]*,)?(?:[go]*[ua][ugoa]*)?[+=][rwxXt]*s[rwxXt]*(?:,[ugoa+=rwxXst-]*)?)$/;
const tools =
  /^(?:sudo|sudoedit|doas|pkexec|su|runuser|gosu|su-exec|setpriv|useradd|adduser|usermod|userdel|groupadd|groupmod|gpasswd|passwd|chpasswd|visudo|vipw|newgrp|setcap|polkit|dzdo|pfexec|machinectl)$/;

/** It checks the syntax of a file, or whether there are rights at all, and uses none. */
function asksOnly(command: Command): boolean {
  const all = args(command);
  if (command.name === 'sudo') return all.length > 0 && all.every((text) => /^(?:-[nl]+|--non-interactive|--list|true)$/.test(text));
  return (
    command.name === 'visudo' &&
    all.some((text) => /^(?:-[qsOPI]*c[qsOPI]*f?|--check)$/.test(text)) &&
    all.every((text) => /^(?:-[qsOPI]*(?:c[qsOPI]*)?f?|--(?:check|quiet|strict|file)(?:=.*)?|[^-].*)$/.test(text))
  );
}

/** Another user's rights are taken or handed out. */
export const privilege: Rail = {
  id: 'privilege',
  title: 'taking or giving the rights of another user',
  severity: 'High',
  risk: 'Destructive',
  cure: 'Run it without: the sandbox has one user, who owns the workspace. Tools belong into the image.',
  check(command) {
    const { name } = command;
    if (tools.test(name) && !asksOnly(command) && !args(command).some((text) => /^--?(?:version|help)$/.test(text)))
      return found('High', `${name} changes who a process is`);
    if (name === 'chmod') {
      const mode = args(command).find((text) => text.length < 32 && setsUser.test(text));
      if (mode !== undefined) return found('High', `chmod ${mode} makes a program run as its owner`);
    }
    if (name === 'install' && /(?:^| )(?:-m ?|--mode[= ])0?[4567][0-7]{3}(?: |$)/.test(args(command).join(' ')))
      return found('High', 'install makes a program run as its owner');
    if (
      (name === 'chown' || name === 'chgrp') &&
      !hasFlag(command, '', '--version') &&
      /^(?:root|0|\+0)?(?::(?:root|wheel|0|sudo|docker)?)?$/.test(operands(command)[0] ?? 'x')
    ) {
      return found('High', `${name} hands files to root`);
    }
    return nothing;
  },
};
