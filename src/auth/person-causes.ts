/** Causes of a refusal after the person or account is identified, by reason, as in `login-causes.ts`. */
export const personCauses = {
  email_not_allowed: {
    email_absent: [
      'the ID token has no e-mail address, and email_matches wants one',
      'scopes: email; the client at the provider: email in the ID token',
    ],
    email_unverified: [
      'the provider says that the e-mail address is not verified (email_verified)',
      'the person verifies the address at the provider, or an administrator there marks it so',
    ],
    email_unsaid: [
      'the provider does not say whether the e-mail address is verified (no email_verified)',
      'the client at the provider: email_verified in the ID token; else assume_email_verified, where its addresses are to be trusted',
    ],
    email_gone: [
      'what was kept of this login is erased or lost, and email_matches wants an e-mail address',
      'nothing here, where the person was erased: they sign in again; else the keys of personal data, from a backup that is whole',
    ],
    email_domain: [
      'the e-mail address is of a domain that email_matches does not name',
      'email_matches, or the person takes another account',
    ],
    email_unmatched: [
      'the e-mail address matches none of email_matches as a whole',
      'email_matches, or the person takes another account',
    ],
  },
  membership_required: {
    membership_none: [
      'the code host names no organization of this person',
      'the organization must let the app see its members; else the person is in none',
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
      'authorization.rules; claims that are absent: the client at the provider must put them into the ID token',
    ],
    grant_memberships: [
      'no rule of {rules} matches; organizations kept of this person: {organizations}, teams: {teams}',
      'authorization.rules; the organization must let the app see its members',
    ],
    grant_account: ['no rule of {rules} matches this service account', 'authorization.rules'],
    grant_unruled: ['there is no rule for {way}', 'authorization.rules, or authorization.unmatched'],
    grant_nowhere: [
      'the rules that match grant nothing: the namespace of the account can be the key of none',
      'authorization.rules without {namespace} for this account',
    ],
    grant_many: [
      'the rules give more than {most} grants',
      'authorization.rules with fewer grants for one person or account',
    ],
  },
} as const
