import { variableOf } from './environment.ts'
import { isDerived, isSetting, leaves, type Node, type Setting } from './setting.ts'
import { settings } from './settings.ts'

const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
const cell = (text: string): string => text.replaceAll('|', '\\|')

const initialOf = ({ kind, initial }: Setting<unknown>): string => {
  if (isDerived(initial)) return initial.shown
  return initial === undefined ? '–' : code(kind.show(initial))
}

const INTRODUCTION = `# Configuration

Made from \`src/config\`; \`npm run docs\` writes it again.

Without any configuration the service runs: embedded storage, authentication required, port 8080.

* A YAML or JSON file: \`--config PATH\` or \`ROLLCALL_CONFIG\`. [rollcall.example.yml](../rollcall.example.yml) has every setting.
* Environment variables: \`ROLLCALL_\` and the key in upper case, joined with \`_\`: \`log.level\` is \`${variableOf('log.level')}\`. For a provider the
  name follows \`PROVIDERS\` and is lower-cased: \`${variableOf('authentication.methods.oidc.providers.acme.client_id')}\`.
  Lists are comma-separated or a JSON array; maps and lists of maps are JSON.
* A text setting also as a file: the variable's name and \`_FILE\`, which names the file. One newline at its end is cut. Use it for secrets.
* Files are regular ones, or links to them: no pipe (\`--config <(…)\`), which a start could wait for for ever.
* Flags of the command line beat the environment, the environment beats the file, the file beats the default.
* Durations: \`250ms\`, \`10s\`, \`1h30m\`, \`24h\`.
* An unknown key, a wrong type or a broken rule stops the start, and every problem is told at once. \`rollcall config check FILE\` tells them
  beforehand, \`rollcall config show\` says what is in effect and where it came from, \`rollcall config schema\` prints a JSON Schema for editors.
  \`rollcall config check --as WHO.json\` says what \`authorization.rules\` would give somebody ([who may do what](guides/access.md)).
* An unknown variable that begins with \`ROLLCALL_\` is only a warning.
`

const table = (rows: readonly (readonly [string, Setting<unknown>])[]): string =>
  [
    '| Key | Type | Default | Meaning |',
    '|---|---|---|---|',
    ...rows.map(
      ([key, setting]) =>
        `| \`${key.replace('.*.', '.<name>.')}\` | ${cell(setting.kind.words)} | ${cell(initialOf(setting))} | ${cell(setting.sentence)} |`,
    ),
  ].join('\n')

/** The text of docs/config.md. */
export const configHandbook = (): string => {
  const top = Object.entries(settings as { readonly [name: string]: Node })
  const single = top.filter(([, node]) => isSetting(node)).flatMap(([name, node]) => leaves(node, name))
  const sections = top
    .filter(([, node]) => !isSetting(node))
    .map(([name, node]) => `## ${name}\n\n${table(leaves(node, name))}\n`)
  return [INTRODUCTION, `## The file\n\n${table(single)}\n`, ...sections].join('\n')
}
