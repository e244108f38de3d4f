# Every target sets up what it needs first (scripts/run), and is quick where nothing changed.
# PYTHON=/path/to/python3 names an interpreter; ARGS go to pytest or to the program.

.PHONY: demo test test-faults lint setup lock check-lerobot check-robomimic clean clean-environments

demo: ; @scripts/run flywheel demo $(ARGS)

# the installed packages are what is tested; -P keeps subprocesses off the source tree as well
test: ; @PYTHONSAFEPATH=1 scripts/run pytest -m 'not faults' $(ARGS)

# long campaigns: processes killed, disks filled, links lost, many times over
test-faults: ; @PYTHONSAFEPATH=1 scripts/run pytest -m faults $(ARGS)

lint: ; @scripts/run pytest test/test_lint.py test/test_package_files.py $(ARGS)

# bench-NAME runs bench/NAME.py, which prints what it measured; by its path, since
# bench/recorder.py's own folder on the path would hide the package recorder
RUN_FILE = import runpy, sys; del sys.argv[0]; sys.path.append("."); runpy.run_path(sys.argv[0], run_name="__main__")
bench-%: ; @PYTHONSAFEPATH=1 scripts/run python -c '$(RUN_FILE)' bench/$(subst -,_,$*).py $(ARGS)

setup: ; @scripts/setup

lock: ; @scripts/lock

# loads a demo's LeRobot dataset with the real lerobot: make check-lerobot DATASET=FOLDER BAGS=FOLDER
check-lerobot: ; @scripts/check_lerobot $(DATASET) $(BAGS)

# reads the robomimic export with robomimic's own dataset class
check-robomimic: ; @scripts/check_robomimic

clean: ; rm -rf .colcon build *.egg-info

clean-environments: ; rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/teleop_flywheel"
