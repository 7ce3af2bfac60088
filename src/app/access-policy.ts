import { meaningsOf } from '../access/meanings.ts'
import { type AccessPolicy, isGoverned, type Rule } from '../access/rules.ts'
import { type Pseudonyms, pseudonyms } from '../auth/pseudonyms.ts'
import { ACCESS, access } from '../commands/access.ts'
import type { Execute } from '../commands/execute.ts'
import { accessPolicy } from '../config/access-rules.ts'
import type { Config } from '../config/load.ts'
import { isRefusal } from '../errors.ts'
import type { AccessEvent } from '../events/access.ts'
import type { DataOf } from '../events/define.ts'
import { version } from '../version.ts'
import type { Core } from './core.ts'
import type { Logger } from './telemetry/logger.ts'

type Configured = DataOf<AccessEvent, 'AccessConfigured'>

const SYSTEM = { actor: { kind: 'system' } } as const
/** Claims that tell who somebody is. */
const PERSONAL = ['email', 'name', 'preferred_username']

/** What the values of a claim are called in the history, by the last name of its pointer. */
const toldAs = (claim: string, { claim: pseudonym, identity }: Pseudonyms): ((value: string) => string) => {
  const name = claim.slice(claim.lastIndexOf('/') + 1)
  if (name === 'sub') return (value) => identity('oidc', value)
  return PERSONAL.includes(name) ? (value) => pseudonym(name, value) : (value) => value
}

const ruleTold = (rule: Rule, names: Pseudonyms): Configured['rules'][number] =>
  rule.method === 'oidc' ? { ...rule, anyOf: rule.anyOf.map(toldAs(rule.claim, names)) } : rule

/** To refuse whom no rule matches goes without saying where there is a rule. */
const unmatchedTold = (rules: readonly Rule[], unmatched: AccessPolicy['unmatched']): Pick<Configured, 'unmatched'> => {
  if (typeof unmatched === 'object') return { unmatched }
  return unmatched === 'refuse' && rules.length === 0 ? { unmatched: [] } : {}
}

/** The configuration of access as the history tells it. */
export const configuredAccess = (
  { rules, unmatched, assumeVerified, roles, requireRole }: AccessPolicy,
  { authentication: { required, exclude } }: Pick<Config, 'authentication'>,
  names: Pseudonyms,
): Configured => ({
  version,
  required,
  exclude,
  requireRole,
  roles: meaningsOf(roles),
  rules: rules.map((rule) => ruleTold(rule, names)),
  ...unmatchedTold(rules, unmatched),
  ...(assumeVerified.length > 0 && { assumeVerified }),
})

const LATER = 'which access is configured is told in the history once every instance reads that'
const NO_LOGINS = `${LATER}: until then logins and exchanges are refused, because there are rules for them`

type PolicyOptions = {
  readonly execute: Execute
  readonly configured: Configured
  /** Calls back when the format of the history may have changed. */
  readonly onFormat: (listener: () => void) => void
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly onError: (error: unknown) => void
}

/** The configuration of access that this instance began with, and its number in the history. */
export const toldAccess = ({ execute, configured, onFormat, logger, onError }: PolicyOptions) => {
  let recorded: Promise<number> | undefined
  let known: number | undefined

  const tell = async (): Promise<number> => {
    const { stored, state } = await execute(access, ACCESS, 'ConfigureAccess', configured, SYSTEM)
    known = Number(stored.at(-1)?.revision ?? state.events - 1)
    return known
  }
  /** Its number; it is told first where that was not done. Refuses with `release_in_progress` while an instance lives that does not read it. */
  const number = (): Promise<number> => {
    recorded ??= tell().catch((error: unknown) => {
      recorded = undefined
      throw error
    })
    return recorded
  }

  return {
    number,
    /** Its number, once it was told. */
    known: () => known,
    /** Tells it, or sees to it that this is done as soon as it can be. */
    begin: async (): Promise<void> => {
      let waits = true
      const later = (error: unknown) => {
        if (!isRefusal(error, 'release_in_progress')) throw error
      }
      onFormat(() => {
        if (waits && recorded === undefined)
          void number()
            .then(() => (waits = false), later)
            .catch(onError)
      })
      try {
        await number()
        waits = false
      } catch (error) {
        later(error)
        if (isGoverned(configured)) logger.warn({}, NO_LOGINS)
        else logger.info({}, LATER)
      }
    },
  }
}

/** The configuration of access as the history is to tell it. */
export const accessOf = (config: Config, { execute, stores, membership, onError }: Core, logger: Logger) =>
  toldAccess({
    execute,
    configured: configuredAccess(accessPolicy(config), config, pseudonyms(stores.pepper.key)),
    onFormat: membership.onChange,
    logger,
    onError: onError('the configuration of access was not told in the history'),
  })
