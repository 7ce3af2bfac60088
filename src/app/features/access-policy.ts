import { EVERYWHERE, meaningsOf } from '../../access/grants.ts'
import { type AccessPolicy, ITS_NAMESPACE, isGoverned, type Rule } from '../../access/rules.ts'
import { type Pseudonyms, pseudonyms } from '../../auth/pseudonyms.ts'
import { isRefusal } from '../../base/errors.ts'
import { version } from '../../base/version.ts'
import { ACCESS, access } from '../../commands/deployment.ts'
import { SYSTEM } from '../../commands/envelope.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import type { AccessEvent } from '../../events/access.ts'
import type { DataOf } from '../../events/define.ts'
import type { Core } from '../core/core.ts'
import type { Logger } from '../telemetry/logger.ts'

type Configured = DataOf<AccessEvent, 'AccessConfigured'>

/** Claims that identify a person. */
const PERSONAL = ['email', 'name', 'preferred_username']

/** Replaces the values of personal claims by pseudonyms, as the history records them. */
const toldAs = (claim: string, { claim: pseudonym, identity }: Pseudonyms): ((value: string) => string) => {
  const name = claim.slice(claim.lastIndexOf('/') + 1)
  if (name === 'sub') return (value) => identity('oidc', value)
  return PERSONAL.includes(name) ? (value) => pseudonym(name, value) : (value) => value
}

const ruleTold = (rule: Rule, names: Pseudonyms): Configured['rules'][number] =>
  rule.method === 'oidc' ? { ...rule, anyOf: rule.anyOf.map(toldAs(rule.claim, names)) } : rule

/** With rules, refusing unmatched identities is the default and is not recorded. */
const unmatchedTold = (rules: readonly Rule[], unmatched: AccessPolicy['unmatched']): Pick<Configured, 'unmatched'> => {
  if (typeof unmatched === 'object') return { unmatched }
  return unmatched === 'refuse' && rules.length === 0 ? { unmatched: [] } : {}
}

/** Access configuration in the form that the history records. */
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

const LATER =
  'the access configuration is not recorded yet: an older instance that cannot read its event format is still running'
const NO_LOGINS = `${LATER}: until then logins and exchanges are refused, because access rules apply to them`

type PolicyOptions = {
  readonly execute: Execute
  readonly configured: Configured
  /** Calls back when the format of the history may have changed. */
  readonly onFormat: (listener: () => void) => void
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly onError: (error: unknown) => void
}

/** Records the access configuration of this instance in the history, and provides its number. */
export const toldAccess = ({ execute, configured, onFormat, logger, onError }: PolicyOptions) => {
  let recorded: Promise<number> | undefined
  let known: number | undefined

  const tell = async (): Promise<number> => {
    const { stored, state } = await execute(access, ACCESS, 'ConfigureAccess', configured, SYSTEM)
    known = Number(stored.at(-1)?.revision ?? state.events - 1)
    return known
  }
  /**
   * Returns the number of the configuration, and records the configuration first if necessary. Refuses with
   * `release_in_progress` while a member cannot read the event.
   */
  const number = (): Promise<number> => {
    recorded ??= tell().catch((error: unknown) => {
      recorded = undefined
      throw error
    })
    return recorded
  }

  return {
    number,
    /** The number; undefined until the configuration is recorded. */
    known: () => known,
    /** Records the configuration now, or as soon as every member can read the event. */
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

/** Creates the recorder of the access configuration. */
export const accessOf = ({ config, settings, execute, stores, membership, logger, onError }: Core) =>
  toldAccess({
    execute,
    configured: configuredAccess(settings.access, config, pseudonyms(stores.pepper.key)),
    onFormat: membership.onChange,
    logger,
    onError: onError('the access configuration cannot be recorded in the event log'),
  })

/** Warns of grants in missing namespaces. A grant in a missing namespace takes effect when the namespace is created. */
export const tellMissingPlaces = (
  { rules, unmatched }: Pick<AccessPolicy, 'rules' | 'unmatched'>,
  isThere: (namespace: string) => boolean,
  logger: Pick<Logger, 'warn'>,
): void => {
  const given = [
    ...rules.map(({ name, grants }) => [`authorization.rules: rule "${name}"`, grants] as const),
    ...(typeof unmatched === 'object' ? [['authorization.unmatched', unmatched] as const] : []),
  ]
  for (const [what, grants] of given) {
    const places = new Set(grants.map(({ place }) => place).filter((place) => place !== ITS_NAMESPACE))
    places.delete(EVERYWHERE)
    for (const place of places)
      if (!isThere(place)) logger.warn(`${what} grants in namespace "${place}", which does not exist`)
  }
}
