import type { RuledMethod, Subject, SubjectOf } from '../../access/rules.ts'
import { admit } from '../../auth/codehost/membership.ts'
import { emailRule } from '../../auth/identity.ts'
import { causeRow } from '../../auth/refusal-details.ts'
import { isAllowed } from '../../auth/service-accounts/service-account.ts'
import type { LoginCause } from '../../base/login-causes.ts'
import { emailMatcher } from '../email.ts'
import type { Config } from '../settings.ts'

type Refused = { readonly reason: string; readonly why: string }

type Methods = Config['authentication']['methods']

const refusals: {
  readonly [M in RuledMethod]: (subject: SubjectOf<M>, methods: Methods) => Refused | undefined
} = {
  oidc: ({ provider, claims }, { oidc }) => {
    if (oidc.email_matches.length === 0) return undefined
    const assumed = oidc.providers.get(provider)?.assume_email_verified
    const cause = emailRule(emailMatcher(oidc.email_matches), claims, assumed)
    return cause && causeRow(cause)
  },
  codehost: (subject, { codehost }) => {
    const { allowed_organizations: allowedOrganizations, allowed_teams: allowedTeams } = codehost
    const { barred } = admit(subject, { allowedOrganizations, allowedTeams }) as { readonly barred?: LoginCause }
    return barred && causeRow(barred)
  },
  orchestrator: ({ namespace, account: name }, { orchestrator }) => {
    const allowed = orchestrator.allowed.map(({ namespace, service_accounts }) => ({
      namespace,
      serviceAccounts: service_accounts,
    }))
    return isAllowed(allowed, { namespace, name })
      ? undefined
      : { reason: 'service_account_not_allowed', why: 'orchestrator.allowed does not list this service account' }
  },
}

/** Refusal of a login or an exchange before any rule applies; undefined if the settings of its method admit it. */
export const refusedBefore = ({ authentication: { methods } }: Config, subject: Subject): Refused | undefined =>
  (refusals[subject.method] as (subject: Subject, methods: Methods) => Refused | undefined)(subject, methods)
