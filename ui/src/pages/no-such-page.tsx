import { Link } from '@tanstack/react-router'
import { PageHead } from '../parts/page.tsx'
import { lastNamespace } from '../preferences.ts'
import { states } from '../words/common.ts'

/** Page for an unknown address. */
export const NoSuchPage = () => (
  <>
    <PageHead heading={states.noPage} title={[states.noPage]} />
    <p>
      <Link to="/ns/$ns/flags" params={{ ns: lastNamespace() }}>
        {states.goToFlags}
      </Link>
    </p>
  </>
)
