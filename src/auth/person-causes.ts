/** Causes of a refusal after the person or account is identified, by reason, as in `login-causes.ts`. */
export const personCauses = {
  email_not_allowed: {
    email_absent: [
      'the ID token has no e-mail address, and email_matches requires one',
      'scopes: email; the client at the provider: email in the ID token',
    ],
    email_unverified: [
      'the provider marks the e-mail address as not verified (email_verified)',
      'the person or an administrator verifies the address at the provider',
    ],
    email_unsaid: [
      'the provider sends no email_verified, so the e-mail address may be unverified',
      'the client at the provider: email_verified in the ID token; or assume_email_verified, if its addresses are trusted',
    ],
    email_gone: [
      'the stored claims of this login are erased or lost, and email_matches requires an e-mail address',
      'if the person was erased: sign in again; otherwise restore the keys of personal data from a complete backup',
    ],
    email_domain: [
      'email_matches does not list the domain of the e-mail address',
      'email_matches, or another account of the person',
    ],
    email_unmatched: [
      'no pattern of email_matches matches the whole e-mail address',
      'email_matches, or another account of the person',
    ],
  },
  membership_required: {
    membership_none: [
      'the code host returned no organization of this person',
      'the organization must let the app see its members; otherwise the person is in none',
    ],
    membership_other: [
      'the person is in none of allowed_organizations',
      'allowed_organizations; the organization must let the app see its members',
    ],
    membership_team: [
      'the person is in an allowed organization, and in none of allowed_teams',
      'allowed_teams, by slug',
    ],
  },
  no_grant: {
    grant_claims: [
      'no rule of {rules} for the provider {provider} matches; {claims}',
      'authorization.rules; absent claims: the client at the provider must add them to the ID token',
    ],
    grant_memberships: [
      'no rule of {rules} matches; stored organizations of this person: {organizations}, teams: {teams}',
      'authorization.rules; the organization must let the app see its members',
    ],
    grant_account: ['no rule of {rules} matches this service account', 'authorization.rules'],
    grant_unruled: ['there is no rule for {way}', 'authorization.rules, or authorization.unmatched'],
    grant_nowhere: [
      'the matching rules grant nothing: the namespace of the account is not a valid namespace key',
      'authorization.rules without {namespace} for this account',
    ],
    grant_many: [
      'the matching rules give more than {most} grants',
      'authorization.rules with fewer grants for one person or account',
    ],
  },
} as const
