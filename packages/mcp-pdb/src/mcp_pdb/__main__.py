import sys

from mcp_pdb.cli import main

sys.exit(main())
