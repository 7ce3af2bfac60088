import { type GrantInForce, grantsInForce } from '../../access/holding.ts'
import {
  type AccessPolicy,
  grantsFor,
  isGoverned,
  matchingRules,
  type RuledMethod,
  referencedClaims,
  type Subject,
  type SubjectOf,
} from '../../access/rules.ts'
import { EXIT, fail } from '../../base/failure.ts'
import { accessPolicy, refusedBefore } from '../../config/checks/access-rules.ts'
import { empty, list, map, record, variants } from '../../config/collections.ts'
import type { Config } from '../../config/load.ts'
import type { SettingKind } from '../../config/setting.ts'
import { oneOf, text } from '../../config/types.ts'
import type { CommandServices } from '../options.ts'
import { type Column, table } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { bytesGiven } from '../whole-file.ts'

const claim: SettingKind<unknown> = {
  words: 'anything',
  read: (value) => value,
  parse: (written) => written,
  show: (value) => value,
  schema: {},
}
const people = {
  oidc: record({ method: oneOf('oidc'), provider: text, claims: map(claim) }, {}),
  codehost: record({ method: oneOf('codehost') }, { organizations: list(text), teams: map(list(text)) }),
  orchestrator: record({ method: oneOf('orchestrator'), namespace: text, service_account: text }, {}),
} satisfies Readonly<Record<RuledMethod, SettingKind<object>>>
const person = variants('method', people)
type Person = ReturnType<(typeof people)[RuledMethod]['read']> & object

const subjects: {
  readonly [M in RuledMethod]: (person: Extract<Person, { readonly method: M }>) => SubjectOf<M>
} = {
  oidc: (person) => person,
  codehost: (person) => ({ organizations: [], teams: empty, ...person }),
  orchestrator: ({ method, namespace, service_account }) => ({ method, namespace, account: service_account }),
}

const jsonIn = (content: string, path: string): unknown => {
  try {
    return JSON.parse(content.trim())
  } catch {
    return fail('usage', `${path} is not JSON.`)
  }
}

const EXAMPLES = `Examples: {"method":"oidc","provider":"corp","claims":{"groups":["a"]}},
{"method":"codehost","organizations":["acme"],"teams":{"acme":["shop"]}} or
{"method":"orchestrator","namespace":"shop","service_account":"web"}.`

const subjectIn = async (path: string, terminal: Terminal): Promise<Subject> => {
  const problems: string[] = []
  const found = person.read(
    jsonIn(String(path === '-' ? await terminal.readStdin() : bytesGiven(path)), path),
    (description, part = '') => {
      problems.push(`${part.replace(/^\./, '') || 'document'}: ${description}`)
      return undefined
    },
  )
  if (found === undefined || problems.length > 0)
    return fail('usage', [`${path} does not describe a login:`, ...problems].join('\n  '), EXAMPLES)
  return (subjects[found.method] as (person: Person) => Subject)(found)
}

const columns: readonly Column<GrantInForce>[] = [
  ['GRANT', ({ role = '', namespaceKey }) => `${role}@${namespaceKey}`],
  ['RULE', ({ rule }) => rule ?? 'unmatched'],
  ['RIGHTS', ({ rights }) => rights.join(' ')],
]

const matchSummary = (policy: AccessPolicy, subject: Subject): string => {
  const { rules } = policy
  const matching = matchingRules(policy, subject).map(({ name }) => name)
  const of = `${rules.length} rule${rules.length === 1 ? '' : 's'}`
  return matching.length === 0 ? `None of ${of} matches.` : `${matching.length} of ${of}: ${matching.join(', ')}.`
}

/**
 * Prints the rules that match a set of claims, memberships or an account, and the resulting grants. The exit code is 3
 * without any grant.
 */
export const checkAs = async (config: Config, path: string, { terminal, endWith }: CommandServices): Promise<void> => {
  const { print, info } = terminal
  const policy = accessPolicy(config)
  const subject = await subjectIn(path, terminal)
  const before = refusedBefore(config, subject)
  if (before) {
    info(`Refused: ${before.why} (${before.reason}).`)
    return endWith(EXIT.check)
  }
  if (!isGoverned(policy)) {
    info('No access rule is configured: logins and exchanges have full access.')
    return
  }
  info(matchSummary(policy, subject))
  for (const name of referencedClaims(policy.rules, subject))
    info(`warning: the provider sends a reference instead of the claim ${name}, so the claim is absent`)
  const given = grantsFor(policy, subject)
  if ('holding' in given) {
    print(table(terminal, grantsInForce(given.holding) ?? [], columns, { headers: true, color: true }))
    return
  }
  info(
    given.refused === 'nothing'
      ? 'Refused: no matching rule gives a grant (no_grant).'
      : 'Refused: more grants than a login may have (no_grant).',
  )
  endWith(EXIT.check)
}
