from agentroom_machine.cli import main

main()
