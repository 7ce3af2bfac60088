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

Generated from \`src/config\` by \`npm run docs\`.

The service runs without configuration: embedded storage, authentication required, port 8080.

* A YAML or JSON file: \`--config PATH\` or \`ROLLCALL_CONFIG\`. [rollcall.example.yml](../rollcall.example.yml) lists all settings.
* Environment variables: \`ROLLCALL_\` and the key in upper case, joined with \`_\`: \`log.level\` is \`${variableOf('log.level')}\`. The name of a
  provider follows \`PROVIDERS\` and is converted to lower case: \`${variableOf('authentication.methods.oidc.providers.acme.client_id')}\`.
  Lists are comma-separated or a JSON array; maps and lists of maps are JSON.
* A text setting can be read from a file: append \`_FILE\` to the variable and set it to the path. One newline at the end is removed. Use this for secrets.
* Files must be regular files or links to them. Pipes (\`--config <(…)\`) are rejected, because they could block the start.
* Priority, highest first: command-line flags, environment, file, default.
* Durations: \`250ms\`, \`10s\`, \`1h30m\`, \`24h\`.
* An unknown key, a wrong type or a violated rule prevents the start; all problems are reported at once. \`rollcall config check FILE\` reports them
  in advance, \`rollcall config show\` prints the effective settings and their sources, \`rollcall config schema\` prints a JSON Schema for editors.
  \`rollcall config check --as WHO.json\` prints the grants of a login by \`authorization.rules\` ([access by role](guides/access.md)).
* An unknown variable that begins with \`ROLLCALL_\` causes a warning only.
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

/** Text of docs/config.md. */
export const configHandbook = (): string => {
  const top = Object.entries(settings as { readonly [name: string]: Node })
  const single = top.filter(([, node]) => isSetting(node)).flatMap(([name, node]) => leaves(node, name))
  const sections = top
    .filter(([, node]) => !isSetting(node))
    .map(([name, node]) => `## ${name}\n\n${table(leaves(node, name))}\n`)
  return [INTRODUCTION, `## The file\n\n${table(single)}\n`, ...sections].join('\n')
}
