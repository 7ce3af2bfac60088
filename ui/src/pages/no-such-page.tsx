import { Link } from '@tanstack/react-router'
import { PageHead } from '../parts/page.tsx'
import { lastNamespace } from '../preferences.ts'
import { states } from '../words/common.ts'

/** An address that is no page. */
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
